#include "estimate/least_peak.h"

#include <algorithm>

#include "estimate/dry_run.h"

namespace vramplan {
namespace {

constexpr std::int64_t kShort = 3;  // a first layer, a last one and one between

/// Layers of one kind, of which every one adds the same.
bool layers_alike(const Job& job) {
  const ModelConfig& m = job.model;
  const bool windows_differ = m.window && (m.full_layers != 0 || m.full_every != 0);
  return !m.two_stacks() && !windows_differ && !job.run.frozen_layers && !job.run.fp8 && !job.run.ddp;
}

/// Recomputation by layer; runs of many layers grow with their length.
bool by_layer(CheckpointKind kind) {
  return kind == CheckpointKind::none || kind == CheckpointKind::per_layer || kind == CheckpointKind::selective;
}

std::int64_t bytes_of(Job job, std::int64_t layers, bool whole_step) {
  job.model.layers = layers;
  const DryRun run(check_job(std::move(job)));
  const Bytes bytes = whole_step ? run.peak().tally.requested : run.states();
  return static_cast<std::int64_t>(bytes.count());
}

}  // namespace

std::optional<Bytes> least_peak(const Job& job) {
  if (!layers_alike(job) || job.model.layers <= kShort + 1) return std::nullopt;
  Job like = job;
  const bool whole_step = by_layer(job.run.checkpoint.kind);
  if (!whole_step) like.run.checkpoint = {};  // what is there between steps does not depend on it
  const std::int64_t low = bytes_of(like, kShort, whole_step), high = bytes_of(like, kShort + 1, whole_step);
  return Bytes(static_cast<std::uint64_t>(low + (job.model.layers - kShort) * std::max<std::int64_t>(high - low, 0)));
}

}  // namespace vramplan
