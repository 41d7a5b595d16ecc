#include "estimate/explain_time.h"

#include <fmt/format.h>

#include "vramplan/estimate/estimate.h"

namespace vramplan {
namespace {

ShareRow flops_row(const Estimate& with, const Estimate& without) {
  return {
      "flops",
      "(F + 2F + F) / (F + 2F) - 1",
      "4/3 - 1",
      1.0 / 3,
      with.step_flops / without.step_flops - 1,
      "a backward pass is two forward passes, recomputation one more; the head and its loss are not recomputed, nor "
      "what comes after the last tensor that backward needs, while fused attention is recomputed for its own "
      "backward already"};
}

ShareRow time_row(const StepTime& with, const StepTime& without) {
  return {"time",
          "recompute / (forward + backward + optimizer)",
          fmt::format("{:.1f} ms / ({:.1f} + {:.1f} + {:.1f} ms)", 1e3 * with.recompute, 1e3 * without.forward,
                      1e3 * without.backward, 1e3 * without.optimizer),
          with.recompute / without.total(),
          with.total() / without.total() - 1,
          "norms, activations, dropout and copies move bytes and multiply little: they weigh more in a forward pass "
          "than in backward, so layers cost more than a third; the head, the loss and the optimizer step are not "
          "repeated, so the step costs less: +20 to +40 % is what is seen"};
}

ShareRow throughput_row(const StepTime& with, const StepTime& without) {
  return {"throughput",
          "old rate / new rate - 1",
          "18 / 13 - 1",
          18.0 / 13 - 1,
          without.tokens_a_second / with.tokens_a_second - 1,
          fmt::format("a 1B model on an RTX 3090 going from 18 to 13 samples a second has lost 28 % of its rate, which "
                      "is 38 % more time; here {:.0f} to {:.0f} tokens a second",
                      without.tokens_a_second, with.tokens_a_second)};
}

}  // namespace

std::vector<ShareRow> recompute_rows(const Job& job) {
  Job with = job, without = job;
  if (job.run.checkpoint.kind == CheckpointKind::none) with.run.checkpoint = {CheckpointKind::per_layer, 0, false};
  if (with.run.use_cache) return {};
  without.run.checkpoint = {};
  const Estimate a = assess(with), b = assess(without);
  std::vector<ShareRow> rows{flops_row(a, b)};
  if (a.time && b.time) {
    rows.push_back(time_row(*a.time, *b.time));
    rows.push_back(throughput_row(*a.time, *b.time));
  }
  return rows;
}

}  // namespace vramplan
