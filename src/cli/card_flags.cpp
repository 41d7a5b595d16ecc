#include "cli/card_flags.h"

#include <algorithm>

#include "base/text.h"
#include "cli/values.h"
#include "read/calibration.h"
#include "read/data.h"
#include "read/named_file.h"

namespace vramplan {

std::vector<Flag> CardFlags::flags() {
  const std::string c = "Card";
  return {
      {"--gpu", "NAME", "a card; 'vramplan gpus' lists them", &gpu_, c},
      {"--gpu-memory", "SIZE", "a card by its memory: 24GiB", &gpu_memory_, c},
      {"--gpu-file", "FILE", "cards of your own, in the form of 'gpus --json': looked up first", &gpu_file_, c},
      {"--mig", "PROFILE", "a slice of the card: 3g.40gb", &mig_, c},
      {"--reserve", "SIZE", "keep this much of the card free", &reserve_, c},
      {"--memory-fraction", "F", "torch.cuda.set_per_process_memory_fraction", &fraction_, c},
      {"--calibration", "FILE", "figures measured on the card instead of the defaults", &calibration_, c},
      {"--allocator", "CONF", "native, expandable, or a PYTORCH_ALLOC_CONF (default: native)", &allocator_, c},
      {"--allocator-map", "", "show the allocator's segments at the peak, and what is free in them", &allocator_map_,
       c},
  };
}

Card CardFlags::named_card(const Context& context) const {
  std::vector<Card> own;
  if (!gpu_file_.empty()) {
    const NamedFile file = read_named(gpu_file_);
    own = own_cards(file.content, file.name);
  }
  for (const Card& c : own)
    if (equal_ignoring_case(c.id, gpu_) || equal_ignoring_case(c.name, gpu_)) return c;
  return find_card(Data(context.data_dir).gpus(), gpu_);
}

std::optional<Card> CardFlags::card(const Context& context) const {
  if (!gpu_.empty() && !gpu_memory_.empty())
    throw UserError("--gpu and --gpu-memory exclude each other", "--gpu", "give one of them", Exit::usage);
  if (!gpu_.empty()) return mig_.empty() ? named_card(context) : mig_slice(named_card(context), mig_);
  if (!mig_.empty())
    throw UserError("a slice of no card", "--mig", "add --gpu a100-80gb, or another that can be cut", Exit::usage);
  if (gpu_memory_.empty()) return std::nullopt;
  const Card c = card_of_size(parse_bytes(gpu_memory_));
  if (c.usable == Bytes())
    throw UserError("a card without memory", "--gpu-memory", "for example --gpu-memory 24GiB", Exit::usage);
  return c;
}

void CardFlags::read(const Context& context, Job& job) const {
  job.card = card(context);
  if (job.card && !job.card->note.empty()) job.assumptions.push_back(job.card->note);
  if (allocator_ == "expandable")
    job.allocator = "expandable_segments:True";
  else if (allocator_ != "native")
    job.allocator = allocator_;
  job.allocator_map = allocator_map_;
  if (!reserve_.empty()) job.reserve = parse_bytes(reserve_);
  if (!fraction_.empty()) job.memory_fraction = number(fraction_, "--memory-fraction");
  if (!calibration_.empty()) {
    const NamedFile file = read_named(calibration_);
    job.calibration = read_calibration(file.content, file.name);
  }
  if (job.card && job.card->compute_capability > 0)
    job.run.device = {job.card->compute_capability, job.card->multiprocessors};
  else
    job.assumptions.push_back("attention kernels as on sm_80 (A100)");
}

}  // namespace vramplan
