// Ways of checkpointing, run one by one: which fits with the least recomputation, and which are worth looking at.
#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "plan/candidate.h"
#include "train/words.h"

namespace vramplan {
namespace {

Checkpointing numbered(CheckpointKind kind, std::int64_t n) { return {kind, n, false, {}, false}; }

/// Marks the frontier: in order of memory, each that recomputes less than all before.
void mark_frontier(std::vector<Candidate>& candidates) {
  std::vector<std::size_t> order(candidates.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Candidate &x = candidates[a], &y = candidates[b];
    return x.device_used != y.device_used ? x.device_used < y.device_used : x.recompute_share < y.recompute_share;
  });
  const Candidate* best = nullptr;
  for (std::size_t i : order) {
    Candidate& c = candidates[i];
    c.frontier = !best || c.recompute_share < best->recompute_share;
    if (c.frontier)
      best = &c;
    else
      c.dominated_by = best->what;
  }
}

}  // namespace

std::vector<Checkpointing> all_strategies(const ModelConfig& model, std::int64_t step) {
  std::vector<Checkpointing> out{{}};
  if (model.decoder())
    for (const RecomputedParts& parts :
         {RecomputedParts{true, false, false, false}, RecomputedParts{false, true, false, false},
          RecomputedParts{false, false, true, false}, RecomputedParts{false, false, false, true},
          RecomputedParts{false, false, true, true}, RecomputedParts{true, false, true, true},
          RecomputedParts{true, true, false, true}})
      out.push_back({CheckpointKind::selective, 0, false, parts, false});
  out.push_back({CheckpointKind::per_layer, 0, false, {}, false});
  for (const CheckpointKind kind :
       {CheckpointKind::segments, CheckpointKind::sequential, CheckpointKind::every, CheckpointKind::first}) {
    const bool one_is_new = kind == CheckpointKind::segments || kind == CheckpointKind::first;
    for (std::int64_t n = one_is_new ? 1 : 2; n <= model.most_segments(); n += step) out.push_back(numbered(kind, n));
  }
  return out;
}

namespace {

/// Runs `ways` and adds them to the plan. The first of all candidates is without checkpointing.
void add_candidates(Plan& plan, const Job& job, const std::vector<Checkpointing>& ways, std::vector<double>& flops) {
  const std::size_t before = plan.candidates.size();
  plan.candidates.resize(before + ways.size());
  flops.resize(plan.candidates.size());
  parallel_for(ways.size(), [&](std::size_t i) {
    Job changed = job;
    changed.run.checkpoint = ways[i];
    const Estimate e = assess(changed);
    flops[before + i] = e.step_flops;
    plan.candidates[before + i] = candidate_of(e, checkpoint_word(ways[i]));
  });
  for (std::size_t i = before; i < plan.candidates.size(); ++i)
    plan.candidates[i].recompute_share = flops[i] / flops[0] - 1;
}

void choose(Plan& plan, const PlanOptions& options) {
  plan.answer.reset();
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const Candidate& c = plan.candidates[i];
    if (!good_enough(c, options)) continue;
    const Candidate* best = plan.answer ? &plan.candidates[*plan.answer] : nullptr;
    if (!best || c.recompute_share < best->recompute_share ||
        (c.recompute_share == best->recompute_share && c.device_used < best->device_used))
      plan.answer = i;
  }
}

/// What a sparse search left out on both sides of its answer.
std::vector<Checkpointing> near(const Checkpointing& found, std::int64_t step, std::int64_t layers) {
  std::vector<Checkpointing> out;
  const bool number = found.kind != CheckpointKind::none && found.kind != CheckpointKind::selective &&
                      found.kind != CheckpointKind::per_layer;
  for (std::int64_t n = found.n - step + 1; number && n < found.n + step; ++n)
    if (n >= 1 && n <= layers && n != found.n) out.push_back(numbered(found.kind, n));
  return out;
}

}  // namespace

Plan least_recompute(const Job& job, const PlanOptions& options) {
  constexpr std::int64_t kSamples = 12;
  need_card(job);
  const std::int64_t layers = job.model.most_segments(),
                     step = options.thorough ? 1 : (layers + kSamples - 1) / kSamples;
  Plan plan;
  plan.question = fmt::format("the least recomputation with which micro-batch {} fits", batch_word(job.run));
  std::vector<double> flops;
  add_candidates(plan, job, all_strategies(job.model, step), flops);
  choose(plan, options);
  if (plan.answer && step > 1) {
    add_candidates(plan, job, near(plan.candidates[*plan.answer].job.run.checkpoint, step, layers), flops);
    choose(plan, options);
    plan.notes.push_back("a sample of each kind was run; --min recompute runs them all");
  }
  mark_frontier(plan.candidates);
  return plan;
}

}  // namespace vramplan
