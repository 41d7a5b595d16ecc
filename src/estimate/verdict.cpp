#include "estimate/verdict.h"

#include <fmt/format.h>

#include "estimate/capacity.h"

namespace vramplan {
namespace {

Counters counters_of(const ReplayPeaks& p, const Overhead& o, Bytes capacity) {
  return {p.allocated, p.reserved, p.reserved + o.context, capacity, p.workspace, p.scratch};
}

/// The run on a card of this capacity, where cached blocks go back to the driver before a request fails.
std::optional<DryRun::Allocator> under_pressure(const DryRun& run, const Job& job, const Overhead& o, Bytes capacity) {
  if (capacity <= o.context) return std::nullopt;
  AllocatorOptions options = allocator_of(job);
  options.capacity = (capacity - o.context).count();
  return run.replay(options, o.workspace);
}

}  // namespace

std::string_view name_of(Verdict v) {
  switch (v) {
    case Verdict::fits: return "fits";
    case Verdict::tight: return "tight";
    case Verdict::does_not_fit: return "does not fit";
    case Verdict::unknown: return "no card given";
  }
  return "";
}

void count(Estimate& e, const DryRun& run, const Overhead& o) {
  const DryRun::Allocator a = *run.replay(allocator_of(e.job), o.workspace);
  e.counters = counters_of(a.peaks, o, {});
  e.first_step = {{}, a.first.allocated, a.first.reserved};
}

void judge(Estimate& e, const DryRun& run, const Overhead& o) {
  if (!e.job.card) return;
  Counters& c = e.counters;
  e.capacity = capacity_chain(e.job, o.context);
  c.capacity = capacity_of(e.job, o.context);
  // What is allocated has to be there whatever is given back.
  const bool hopeless = c.allocated + o.context > c.capacity;
  const auto squeezed =
      c.device_used > c.capacity && !hopeless ? under_pressure(run, e.job, o, c.capacity) : std::nullopt;
  if (squeezed) {
    e.warnings.push_back(
        fmt::format("fits only because the allocator gives cached memory back to the driver ({} times in two steps); "
                    "without pressure it would reserve {}: try --allocator expandable",
                    squeezed->retries, format_bytes(c.reserved)));
    c = counters_of(squeezed->peaks, o, c.capacity);
  }
  e.margin = static_cast<std::int64_t>(c.capacity.count()) - static_cast<std::int64_t>(c.device_used.count());
  const auto doubt = static_cast<std::int64_t>(e.uncertainty.count());
  e.verdict = e.margin < 0 ? Verdict::does_not_fit : squeezed || e.margin < doubt ? Verdict::tight : Verdict::fits;
}

}  // namespace vramplan
