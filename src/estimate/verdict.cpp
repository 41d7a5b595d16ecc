#include "estimate/verdict.h"

#include <fmt/format.h>

#include <utility>

#include "allocator/caching.h"
#include "base/parallel.h"
#include "estimate/capacity.h"

namespace vramplan {
namespace {

Counters counters_of(const ReplayPeaks& p, const Overhead& o, Bytes capacity) {
  return {p.allocated, p.reserved, p.reserved + o.context, capacity, p.workspace, p.scratch};
}

/// The run on a card of this capacity, where cached blocks go back to the driver before a request fails.
std::optional<DryRun::Allocator> under_pressure(const DryRun& run, const Job& job, const Overhead& o, Bytes capacity) {
  if (capacity <= o.context) return std::nullopt;
  AllocatorOptions options = parse_alloc_conf(job.allocator);
  options.capacity = (capacity - o.context).count();
  return run.replay(options, o.workspace);
}

struct Variant {
  const char* change;
  bool (*apply)(TrainOptions&);  ///< false when it would change nothing
};

/// Changes in the order people would rather make them; each is run, not guessed.
constexpr Variant kVariants[]{
    {"--attention sdpa",
     [](TrainOptions& r) { return r.attention == AttentionForm::eager && (r.attention = AttentionForm::sdpa, true); }},
    {"--optimizer-form fused",
     [](TrainOptions& r) {
       return r.optimizer.form != OptimizerForm::fused && (r.optimizer.form = OptimizerForm::fused, true);
     }},
    {"--checkpoint per-layer",
     [](TrainOptions& r) {
       return r.checkpoint.kind != CheckpointKind::per_layer &&
              (r.checkpoint = {CheckpointKind::per_layer, 0, false}, true);
     }},
    {"--checkpoint per-layer --optimizer-form fused",
     [](TrainOptions& r) {
       if (r.checkpoint.kind == CheckpointKind::per_layer || r.optimizer.form == OptimizerForm::fused) return false;
       r.checkpoint = {CheckpointKind::per_layer, 0, false};
       r.optimizer.form = OptimizerForm::fused;
       return true;
     }},
    {"half the micro-batch, twice the accumulation",
     [](TrainOptions& r) { return r.micro_batch > 1 && (r.micro_batch /= 2, r.accumulate *= 2, true); }},
    {"--precision bf16",
     [](TrainOptions& r) {
       return parameter_type(r.precision) == DType::fp32 && (r.precision = Precision::bf16, true);
     }},
    {"half the sequence length", [](TrainOptions& r) { return r.seq > 1 && (r.seq /= 2, true); }},
    {"--checkpoint per-layer --optimizer-form fused --micro-batch 1",
     [](TrainOptions& r) {
       r.checkpoint = {CheckpointKind::per_layer, 0, false};
       r.optimizer.form = OptimizerForm::fused;
       return std::exchange(r.micro_batch, 1) > 1;
     }},
    {"--checkpoint per-layer --optimizer-form fused --micro-batch 1 --precision bf16",
     [](TrainOptions& r) {
       r.checkpoint = {CheckpointKind::per_layer, 0, false};
       r.optimizer.form = OptimizerForm::fused;
       r.micro_batch = 1;
       return parameter_type(std::exchange(r.precision, Precision::bf16)) == DType::fp32;
     }},
};

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

Counters count(const DryRun& run, const Job& job, const Overhead& o) {
  return counters_of(run.replay(parse_alloc_conf(job.allocator), o.workspace)->peaks, o, {});
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

void advise(Estimate& e, const Overhead& o) {
  if (e.verdict != Verdict::does_not_fit) return;
  std::vector<Advice> tried(std::size(kVariants));
  parallel_for(tried.size(), [&](std::size_t i) {
    Job changed = e.job;
    if (!kVariants[i].apply(changed.run)) return;
    const DryRun run(changed);
    const Bytes used = count(run, e.job, o).device_used;
    tried[i] = {kVariants[i].change, used, used <= e.counters.capacity};
  });
  for (Advice& a : tried)
    if (!a.change.empty() && a.peak < e.counters.device_used) e.advice.push_back(std::move(a));
}

}  // namespace vramplan
