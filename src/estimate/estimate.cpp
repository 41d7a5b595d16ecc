#include "vramplan/estimate/estimate.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/breakdown.h"
#include "estimate/capacity.h"
#include "estimate/logits.h"
#include "estimate/verdict.h"
#include "hardware/speed_of.h"
#include "hardware/vendor.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

constexpr std::size_t kLargest = 10;

/// "2 + 4 + 12 bytes a parameter", for those who plan with such sums; empty where states are not Adam's.
std::string bytes_a_parameter(const TrainOptions& r) {
  const Optimizer& o = r.optimizer;
  const bool adam = o.kind == OptimizerKind::adam || o.kind == OptimizerKind::adamw;
  if (!adam || freezes_model(r) || o.states != StateStorage::as_parameter || o.on_host || o.in_backward) return {};
  const std::int64_t weight = item_size(parameter_type(r.precision)), gradient = r.fp32_gradients ? 4 : weight;
  const std::int64_t states = (o.amsgrad ? 3 : 2) * (has_master_weights(r.precision) ? 4 : weight);
  if (has_master_weights(r.precision))
    return fmt::format("{} + {} + {} bytes a parameter: weights, gradients, fp32 weights and states", weight, gradient,
                       4 + states);
  return fmt::format("{} + {} + {} bytes a parameter: weights, gradients, states", weight, gradient, states);
}

/// Which kernel attention took, where it was PyTorch's choice and not the fastest; as a warning where that costs
/// memory.
void describe_attention(Estimate& e) {
  for (const AttentionKernel& k : e.attention_kernels) {
    if (k.passed_over.empty()) continue;
    std::vector<std::string>& list = k.name == "math" ? e.warnings : e.assumptions;
    list.push_back(fmt::format("attention takes the {} kernel{}; faster ones are passed over ({})", k.name,
                               k.name == "math" ? ", which keeps a number for each pair of tokens" : "",
                               k.passed_over));
  }
}

void describe(Estimate& e, const Overhead& o) {
  describe_attention(e);
  e.assumptions = e.job.assumptions;
  const VendorWords& words = vendor_words(e.job.card ? e.job.card->vendor : "");
  if (!on_cuda(e.job))
    e.warnings.push_back(fmt::format(
        "confidence: low; not validated on this vendor ({}): tensors are counted as on an NVIDIA card, whose "
        "kernels, allocator and context are not those of {}",
        e.job.card->vendor, words.runtime));
  if (e.job.run.fp8)
    e.warnings.push_back(
        "confidence: low; 8-bit layers follow what Transformer Engine 2.20 allocates on a virtual card, not a real "
        "one");
  e.warnings.insert(e.warnings.begin(), e.job.warnings.begin(), e.job.warnings.end());
  e.assumptions.push_back(
      e.job.calibration.context
          ? fmt::format("context {}, as measured ({})", format_gib(o.context), e.job.calibration.origin)
      : on_cuda(e.job) ? fmt::format("context {}, not measured on this card: {}", format_gib(o.context),
                                     context_seen(e.job.run.device.compute_capability))
                       : fmt::format("{} context {}, not measured: what is usual on other cards", words.runtime,
                                     format_gib(o.context)));
  e.assumptions.push_back(fmt::format("{} workspace {}, taken and returned by each matrix product", words.products,
                                      format_bytes(o.workspace)));
  e.assumptions.push_back(fmt::format("PyTorch's caching allocator, simulated: {}",
                                      e.job.allocator.empty() ? "its defaults" : e.job.allocator));
  e.assumptions.push_back(
      "kernels and lifetimes of PyTorch 2.15 and transformers 5.24; step 2 is reported, when optimizer states exist");
  if (const std::string layout = bytes_a_parameter(e.job.run); !layout.empty()) e.assumptions.push_back(layout);
  if (e.job.run.precision == Precision::amp_fp16 && !e.job.run.grad_scaler)
    e.assumptions.push_back("no GradScaler, whose few numbers take a few KiB: --grad-scaler");
  if (e.job.run.optimizer.paged)
    e.assumptions.push_back(
        "paged states stay in the host's memory; the driver may keep some on the card while it has room");
  if (e.job.run.seq > e.job.model.positions)
    e.warnings.push_back(
        fmt::format("the sequence is longer than the {} positions the model was made for", e.job.model.positions));
  if (e.job.run.checkpoint.kind != CheckpointKind::none && e.job.model.layers == 1)
    e.warnings.push_back("with one layer, checkpointing saves nothing: the whole model is recomputed at once");
  if (e.job.card && e.job.card->compute_capability > 0 && e.job.card->compute_capability < 75)
    e.warnings.push_back(fmt::format(
        "PyTorch 2.15 for CUDA 13 has no kernels for sm_{}: it takes an older PyTorch, and the figures follow "
        "2.15's rules for that card",
        e.job.card->compute_capability));
  if (e.job.card && !has_bf16(*e.job.card) && computes_in_bf16(e.job.run))
    e.warnings.push_back(fmt::format("{} has no bf16 arithmetic; use fp16 or fp32", e.job.card->name));
}

}  // namespace

namespace {

std::optional<StepTime> time_of(const Job& job, const Work& work) {
  if (job.run.optimizer.on_host || job.run.checkpoint.on_host || job.run.optimizer.paged) return std::nullopt;
  auto at = [&](Phase p) { return work.seconds[static_cast<std::size_t>(p)]; };
  StepTime t{at(Phase::init) + at(Phase::forward) + at(Phase::loss),
             at(Phase::recompute),
             at(Phase::backward),
             at(Phase::optimizer),
             0,
             job.card.value_or(reference_card()).name};
  if (t.total() <= 0) return std::nullopt;
  t.tokens_a_second =
      static_cast<double>(job.run.micro_batch * job.run.accumulate) * static_cast<double>(job.run.seq) / t.total();
  return t;
}

/// What a run says of itself: counts, peaks, counters, verdict.
Estimate summary(const Job& job, const DryRun& run, const Overhead& o) {
  Estimate e;
  e.job = job;
  e.parameters = parameter_count(job.model) + adapter_count(job.model, job.run);
  e.trainable = trainable_count(job.model, job.run);
  e.states = run.states();
  e.host = run.host();
  e.held = run.held();
  e.phases = run.phases();
  e.peak = run.peak().tally.requested;
  e.peak_phase = run.peak_phase();
  count(e, run, o);
  for (const UncertaintyPart& p : uncertainty_parts(job)) {
    e.uncertainty_parts.push_back({p.name, p.bytes, {}});
    e.uncertainty += p.bytes;
  }
  for (const SdpaChoice& c : run.sdpa_choices()) e.attention_kernels.push_back({name_of(c.kernel), c.passed_over});
  e.step_flops = run.flops();
  e.recompute_flops = run.work().flops[static_cast<std::size_t>(Phase::recompute)];
  e.time = time_of(job, run.work());
  judge(e, run, o);
  return e;
}

}  // namespace

Confidence confidence_of(const Job& job) { return job.run.fp8 || !on_cuda(job) ? Confidence::low : Confidence::high; }

std::string_view name_of(Confidence c) { return c == Confidence::low ? "low" : "high"; }

std::optional<Estimate> assess_if_runnable(const Job& job) {
  try {
    return assess(job);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

Estimate assess(const Job& job) { return summary(job, DryRun(check_job(job)), overhead_of(job)); }

Estimate estimate(const Job& job) {
  const DryRun run(check_job(job));
  const Overhead o = overhead_of(job);
  Estimate e = summary(job, run, o);
  e.first_step.peak = run.first_peak();
  e.logits = logits_of(run, job);
  const std::vector<PeakTensor> kinds = kinds_alive(run.ledger(), run.ledger().alive(run.peak().at));
  e.tensors.assign(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(std::min(kinds.size(), kLargest)));
  if (job.run.checkpoint.kind != CheckpointKind::none) {
    Job plain = job;
    plain.run.checkpoint = {};
    const DryRun without(check_job(plain));
    e.without_checkpointing = Without{without.peak().tally.requested, without.held()};
  }
  e.tree = make_tree(kinds, run.peak().tally, o, e.counters);
  describe(e, o);
  if (job.allocator_map)
    for (const SegmentLayout& s : run.layout_at_peak(allocator_of(job), o.workspace)) {
      e.segments.push_back({s.small, {}});
      for (const SegmentLayout::Block& b : s.blocks) e.segments.back().blocks.push_back({b.size, b.used});
    }
  return e;
}

}  // namespace vramplan
