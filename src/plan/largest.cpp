// The largest micro-batch and the longest sequence.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <mutex>

#include "plan/candidate.h"
#include "plan/search.h"

namespace vramplan {
namespace {

constexpr std::int64_t kMost = 1 << 24;

struct Asked {
  std::int64_t low, high, step;
  const char* unit;
  std::function<void(Job&, std::int64_t)> set;
};

/// Whether the tensors alone leave it possible: they only grow, while what the allocator reserves for them may shrink.
bool possible_with(const Estimate& e) {
  return e.peak + (e.counters.device_used - e.counters.reserved) <= e.counters.capacity;
}

/// Every value that was asked is a candidate, in order.
Plan largest(const Job& job, const PlanOptions& options, const Asked& asked) {
  need_card(job);
  std::map<std::int64_t, Candidate> seen;
  std::map<std::int64_t, bool> possible;
  auto ask = [&](std::int64_t value) -> const Candidate& {
    if (const auto known = seen.find(value); known != seen.end()) return known->second;
    Job changed = job;
    asked.set(changed, value);
    const Estimate e = assess(changed);
    possible[value] = possible_with(e);
    return seen[value] = candidate_of(e, fmt::format("{} {}", asked.unit, value));
  };
  const auto found = largest_that_fits(
      asked.low, asked.high, asked.step, [&](std::int64_t value) { return good_enough(ask(value), options); },
      [&](std::int64_t value) { return ask(value), possible.at(value); });
  Plan plan;
  for (auto& [value, c] : seen) {
    if (found && value == *found) plan.answer = plan.candidates.size();
    plan.candidates.push_back(std::move(c));
  }
  return plan;
}

}  // namespace

Plan largest_micro_batch(const Job& job, const PlanOptions& options) {
  Plan plan =
      largest(job, options, {1, kMost, 1, "micro-batch", [](Job& j, std::int64_t v) { j.run.micro_batch = v; }});
  plan.question = fmt::format("the largest micro-batch of {} tokens that fits", job.run.seq);
  return plan;
}

Plan longest_sequence(const Job& job, const PlanOptions& options) {
  const std::optional<std::int64_t> learned = job.positions_follow_seq ? std::nullopt : longest_allowed(job);
  const std::int64_t step = options.multiple, high = learned.value_or(kMost) / step * step;
  Plan plan = largest(job, options, {step, high, step, "seq", set_seq});
  plan.question =
      fmt::format("the longest sequence, a multiple of {}, that fits at micro-batch {}", step, job.run.micro_batch);
  if (learned && plan.answer && plan.candidates[*plan.answer].job.run.seq == high)
    plan.notes.push_back(fmt::format("no longer than the {} learned positions of the model", job.model.positions));
  return plan;
}

}  // namespace vramplan
