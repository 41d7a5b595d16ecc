// Memory against N, by running the step for every N.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/parallel.h"
#include "vramplan/plan/plan.h"

namespace vramplan {

namespace {

CurvePoint point_of(const Estimate& e, std::int64_t segments, double plain_flops) {
  CurvePoint p;
  p.segments = segments;
  p.held = e.held;
  p.peak = e.peak;
  for (const PhasePeak& phase : e.phases)
    if (phase.phase != Phase::optimizer && phase.phase != Phase::init)
      p.activation_peak = std::max(p.activation_peak, phase.peak);
  p.device_used = e.counters.device_used;
  p.recompute_share = e.step_flops / plain_flops - 1;
  p.verdict = e.verdict;
  p.time = e.time;
  return p;
}

Bytes difference(Bytes a, Bytes b) { return a > b ? a - b : Bytes(); }

/// What one layer keeps without checkpointing: the last of those the model has.
Bytes kept_by_a_layer(const Job& plain, Bytes held) {
  if (plain.model.layers < 2) return held;
  Job shorter = plain;
  shorter.model.layers -= 1;
  return difference(held, assess(shorter).held);
}

Textbook textbook_of(const Curve& c, const Job& plain) {
  Textbook t;
  t.layer = kept_by_a_layer(plain, c.without.held);
  if (c.points.size() > 1) t.boundary = difference(c.points[1].held, c.points[0].held);
  if (t.boundary == Bytes()) return t;
  const auto layers = static_cast<double>(c.points.size()), a = static_cast<double>(t.layer.count()),
             b = static_cast<double>(t.boundary.count());
  t.best_segments = std::sqrt(layers * a / b);
  t.best = Bytes(static_cast<std::uint64_t>(2 * std::sqrt(layers * a * b)));
  t.recursive_forwards = static_cast<std::int64_t>(std::ceil(std::log2(layers)));
  t.recursive = t.boundary * static_cast<std::uint64_t>(t.recursive_forwards) + t.layer;
  return t;
}

}  // namespace

Curve segments_curve(const Job& job) {
  Curve curve;
  curve.job = job;
  Job plain = job;
  plain.run.checkpoint = {};
  const Estimate without = assess(plain);
  curve.without = point_of(without, 0, without.step_flops);
  const std::int64_t layers = job.model.layers;
  curve.points.resize(static_cast<std::size_t>(layers));
  parallel_for(curve.points.size(), [&](std::size_t i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    Job cut = job;
    cut.run.checkpoint = {CheckpointKind::segments, n, job.run.checkpoint.reentrant, {}, false};
    curve.points[i] = point_of(assess(cut), n, without.step_flops);
  });
  curve.best = std::min_element(curve.points.begin(), curve.points.end(), [](const CurvePoint& a, const CurvePoint& b) {
                 return std::tie(a.peak, a.activation_peak) < std::tie(b.peak, b.activation_peak);
               })->segments;
  curve.root = std::clamp<std::int64_t>(std::llround(std::sqrt(static_cast<double>(layers))), 1, layers);
  curve.textbook = textbook_of(curve, plain);
  return curve;
}

}  // namespace vramplan
