#include "estimate/capacity.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/vendor.h"

namespace vramplan {
namespace {

Bytes less(Bytes a, Bytes b) { return a > b ? a - b : Bytes(); }

/// torch.cuda.set_per_process_memory_fraction limits what the allocator may reserve; the context comes on top.
Bytes limit_of(const Job& job) {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(job.card->usable.count()) * job.memory_fraction));
}

}  // namespace

std::vector<CapacityLink> capacity_chain(const Job& job, Bytes context) {
  std::vector<CapacityLink> chain;
  if (!job.card) return chain;
  const Card& c = *job.card;
  chain.push_back({"advertised", c.nominal, "the maker's GB are GiB"});
  if (c.driver_total > Bytes())
    chain.push_back(
        {"driver", c.driver_total, fmt::format("{}'s total ({})", vendor_words(c.vendor).monitor, c.driver_basis)});
  chain.push_back({"usable", c.usable, c.usable_basis});
  Bytes left = c.usable;
  if (job.memory_fraction < 1)
    chain.push_back({"fraction", left = std::min(left, limit_of(job) + context),
                     fmt::format("--memory-fraction {}: of what PyTorch reserves", job.memory_fraction)});
  chain.push_back({"capacity", left = less(left, job.reserve),
                   job.reserve > Bytes() ? fmt::format("{} kept free by --reserve", format_bytes(job.reserve))
                                         : "nothing kept free: --reserve"});
  chain.push_back({"for PyTorch", less(left, context), fmt::format("less a context of {}", format_bytes(context))});
  return chain;
}

AllocatorOptions allocator_of(const Job& job) {
  AllocatorOptions options = parse_alloc_conf(job.allocator);
  if (job.card && job.memory_fraction < 1) options.memory_limit = limit_of(job).count();
  return options;
}

Bytes capacity_of(const Job& job, Bytes context) {
  const std::vector<CapacityLink> chain = capacity_chain(job, context);
  return chain.empty() ? Bytes() : chain[chain.size() - 2].bytes;
}

}  // namespace vramplan
