#include "cli/card_flags.h"

#include "read/data.h"

namespace vramplan {

std::vector<Flag> CardFlags::flags() {
  const std::string c = "Card";
  return {
      {"--gpu", "NAME", "a card; 'vramplan gpus' lists them", &gpu_, c},
      {"--gpu-memory", "SIZE", "a card by its memory: 24GiB", &gpu_memory_, c},
      {"--allocator", "CONF", "native, expandable, or a PYTORCH_ALLOC_CONF (default: native)", &allocator_, c},
      {"--allocator-map", "", "show the allocator's segments at the peak, and what is free in them", &allocator_map_,
       c},
      {"--reserve", "SIZE", "keep this much of the card free", &reserve_, c},
  };
}

void CardFlags::read(const Context& context, Job& job) const {
  if (!gpu_.empty() && !gpu_memory_.empty())
    throw UserError("--gpu and --gpu-memory exclude each other", "--gpu", "give one of them", Exit::usage);
  if (!gpu_.empty()) job.card = find_card(Data(context.data_dir).gpus(), gpu_);
  if (!gpu_memory_.empty()) {
    job.card = card_of_size(parse_bytes(gpu_memory_));
    if (job.card->usable == Bytes())
      throw UserError("a card without memory", "--gpu-memory", "for example --gpu-memory 24GiB", Exit::usage);
  }
  if (allocator_ == "expandable")
    job.allocator = "expandable_segments:True";
  else if (allocator_ != "native")
    job.allocator = allocator_;
  job.allocator_map = allocator_map_;
  if (!reserve_.empty()) job.reserve = parse_bytes(reserve_);
  if (job.card && job.card->compute_capability > 0)
    job.run.device = {job.card->compute_capability, job.card->multiprocessors};
  else
    job.assumptions.push_back("attention kernels as on sm_80 (A100)");
}

}  // namespace vramplan
