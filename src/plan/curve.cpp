// Memory against N, by running the step for every N.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/parallel.h"
#include "plan/cuts.h"
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

/// `shorter`: what the model holds with a layer less, without checkpointing.
Textbook textbook_of(const Curve& c, Bytes shorter) {
  Textbook t;
  t.layer = difference(c.without.held, shorter);
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

/// The layers as a chain, from differences of whole steps.
std::vector<ChainLayer> chain_of(const Curve& c, const Estimate& without, std::int64_t layer_parameters) {
  const auto count = [](Bytes b) { return static_cast<std::int64_t>(b.count()); };
  const std::int64_t boundary = count(c.textbook.boundary),
                     kept = std::max<std::int64_t>(count(c.textbook.layer) - boundary, 0),
                     layers = static_cast<std::int64_t>(c.points.size());
  const std::int64_t gradient =
      layer_parameters *
      (c.job.run.fp32_gradients ? item_size(DType::fp32) : item_size(parameter_type(c.job.run.precision)));
  const CurvePoint& one = c.points[0];
  const std::int64_t work = count(one.activation_peak) - count(without.states) - count(one.held) - layers * kept;
  return std::vector<ChainLayer>(c.points.size(), {boundary, kept, std::max<std::int64_t>(work, 0), gradient, 1});
}

/// Numbers of segments worth a run with unequal lengths: a ladder, and the best with equal ones.
std::vector<std::int64_t> ladder(const Curve& c) {
  std::vector<std::int64_t> out{c.best};
  for (std::int64_t n = 2; n < static_cast<std::int64_t>(c.points.size()); n += std::max<std::int64_t>(1, n / 4))
    out.push_back(n);
  return out;
}

/// Cuts from the dynamic programme, each run; the one with the lowest peak before the optimizer. The programme knows
/// the layers, the run also knows the head.
void add_uneven(Curve& curve, const Estimate& without, std::int64_t layer_parameters) {
  if (curve.job.model.two_stacks() || curve.points.size() < 2 || curve.textbook.boundary == Bytes()) return;
  const std::vector<ChainLayer> chain = chain_of(curve, without, layer_parameters);
  const std::vector<std::int64_t> segments = ladder(curve);
  std::vector<Checkpointing> ways(segments.size());
  std::vector<CurvePoint> points(segments.size());
  parallel_for(segments.size(), [&](std::size_t i) {
    Job job = curve.job;
    ways[i] = {CheckpointKind::cuts, 0, job.run.checkpoint.reentrant, {}, false, lowest_peak(chain, segments[i]).runs};
    job.run.checkpoint = ways[i];
    points[i] = point_of(assess(job), segments[i], without.step_flops);
  });
  const auto best = std::min_element(points.begin(), points.end(), [](const CurvePoint& a, const CurvePoint& b) {
    return a.activation_peak < b.activation_peak;
  });
  curve.uneven = ways[static_cast<std::size_t>(best - points.begin())];
  curve.uneven_point = *best;
}

}  // namespace

Curve segments_curve(const Job& job) {
  Curve curve;
  curve.job = job;
  Job plain = job;
  plain.run.checkpoint = {};
  const Estimate without = assess(plain);
  curve.without = point_of(without, 0, without.step_flops);
  const std::int64_t layers = job.model.most_segments();
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
  Job shorter = plain;
  for (std::int64_t* n : {&shorter.model.layers, &shorter.model.source.layers})
    if (*n > 1) --*n;
  if (shorter.run.frozen_layers)
    *shorter.run.frozen_layers = std::min(*shorter.run.frozen_layers, shorter.model.layers);
  const Estimate less = assess(shorter);
  curve.textbook = textbook_of(curve, less.held);
  add_uneven(curve, without, without.trainable - less.trainable);
  return curve;
}

}  // namespace vramplan
