#include "plan/sieve.h"

#include "estimate/capacity.h"
#include "estimate/overhead.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// The job as a composition sees it: no layers, no number of segments.
Job without_cuts(Job job) {
  job.model.layers = 1;
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
  try {
    check_job(job);
  } catch (const UserError&) {
    return false;  // the run itself says why
  }
  Job base = without_cuts(job);
  if (!composition_ || !(base.model == of_.model) || !(base.run == of_.run)) {
    composition_ = std::make_unique<Composition>(base);
    of_ = std::move(base);
  }
  const Bytes context = overhead_of(job).context;
  return composition_->peaks(job.model.layers, segments_of(job)).rounded + context > capacity_of(job, context);
}

}  // namespace vramplan
