#include "render/need.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramplan {
namespace {

std::string cure_of(const Estimate& e) {
  if (!e.advice) return {};
  const auto& levers = e.advice->levers;
  const auto at =
      std::find_if(levers.begin(), levers.end(), [](auto& a) { return a.flags == "--allocator expandable"; });
  if (at == levers.end() || (at->verdict != Verdict::fits && at->verdict != Verdict::tight)) return {};
  return fmt::format("{} with {} ({})", name_of(at->verdict), at->flags, at->setting);
}

}  // namespace

Need need_of(const Estimate& e) {
  const Counters& c = e.counters;
  Need all{c.device_used, {}, {}};
  if (e.verdict != Verdict::does_not_fit || !on_cuda(e.job) || c.reserved <= c.allocated) return all;
  const Bytes gaps = c.reserved - c.allocated, itself = c.device_used - gaps;
  const bool decides = itself <= c.capacity, counts = gaps.count() >= c.device_used.count() / 100;
  if (!decides && !counts) return all;
  return {itself, gaps, cure_of(e)};
}

std::string gaps_words(const Estimate& e, const Need& need, ByteUnit unit) {
  if (need.gaps == Bytes()) return {};
  return fmt::format(", and {} more for the allocator's gaps, {} in all", format_bytes(need.gaps, unit),
                     format_bytes(e.counters.device_used, unit));
}

}  // namespace vramplan
