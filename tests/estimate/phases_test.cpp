// The peak of each phase against what PyTorch showed between the same two instants of the loop.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "estimate/dry_run.h"
#include "read/golden.h"

using namespace vramplan;

namespace {

Bytes highest(const std::vector<PhasePeak>& phases, std::initializer_list<Phase> of) {
  Bytes high;
  for (const PhasePeak& p : phases)
    if (std::count(of.begin(), of.end(), p.phase)) high = std::max(high, p.peak);
  return high;
}

}  // namespace

TEST_CASE("phases peak where PyTorch's do") {
  int cases = 0;
  for (const char* group :
       {"gpt2", "llama", "mistral", "qwen2", "segments", "optimizers", "lora", "losses", "recompute"}) {
    std::ifstream file(std::string(TEST_ROOT "/golden/") + group + ".jsonl");
    for (std::string line; std::getline(file, line);) {
      const GoldenCase g = read_golden(line, group);
      if (!g.not_expressed.empty() || !g.steps || g.options.accumulate > 1 || g.options.evaluate) continue;
      CAPTURE(g.id);
      Job job;
      job.model = g.config;
      job.run = g.options;
      const auto phases = DryRun(check_job(job)).phases();
      const GoldenStep& step = (*g.steps)[1];
      CHECK(highest(phases, {Phase::forward, Phase::loss}) == step.peak_forward.requested);
      CHECK(highest(phases, {Phase::backward, Phase::recompute}) == step.peak_backward.requested);
      if (!g.options.optimizer.in_backward) CHECK(highest(phases, {Phase::optimizer}) == step.peak_optimizer.requested);
      ++cases;
    }
  }
  CHECK(cases > 180);
}
