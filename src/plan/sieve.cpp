#include "plan/sieve.h"

#include "estimate/capacity.h"
#include "estimate/overhead.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// What questions have in common: not the layers, the segments and the micro-batch.
Job common(Job job) {
  job.model.layers = 1;
  job.run.micro_batch = 1;
  const Checkpointing& c = job.run.checkpoint;
  job.run.checkpoint = {CheckpointKind::none, 0, c.reentrant, {}, c.on_host};
  return job;
}

bool known_kind(CheckpointKind k) {
  return k == CheckpointKind::none || k == CheckpointKind::segments || k == CheckpointKind::per_layer;
}

std::int64_t segments_of(const Job& job) {
  switch (job.run.checkpoint.kind) {
    case CheckpointKind::segments: return job.run.checkpoint.n;
    case CheckpointKind::per_layer: return job.model.layers;
    default: return 0;
  }
}

}  // namespace

bool Sieve::too_large(const Job& job) {
  // Layers that are checkpointed alone take their mask as an argument, which runs of one layer capture.
  const bool masked = job.run.checkpoint.kind == CheckpointKind::per_layer &&
                      (job.run.attention == AttentionForm::eager || job.model.window);
  if (!job.card || masked || !known_kind(job.run.checkpoint.kind) || !why_not_composable(job).empty()) return false;
  if (!why_not_runnable(job).empty()) return false;  // the run itself says why
  Job base = common(job);
  if (!batches_ || !(base.model == of_.model) || !(base.run == of_.run)) {
    batches_ = std::make_unique<MicroBatches>(base, from_, to_);
    of_ = std::move(base);
  }
  const Bytes context = overhead_of(job).context;
  return batches_->peak(job.model.layers, segments_of(job), job.run.micro_batch) + context > capacity_of(job, context);
}

}  // namespace vramplan
