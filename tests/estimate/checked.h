// Every estimate a test makes goes through here: the bloaty invariant is checked each time.
#pragma once
#include <doctest/doctest.h>

#include "small_models.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan::test {

inline Estimate checked_estimate(const Job& job) {
  Estimate e = estimate(job);
  const auto broken = broken_invariants(e);
  CHECK(broken.empty());
  for (const std::string& b : broken) MESSAGE(b);
  return e;
}

inline Job small_job(const ModelConfig& c = small_llama(), const TrainOptions& r = small_run(Precision::bf16)) {
  Job j;
  j.model = c;
  j.run = suited(c, r);
  return j;
}

}  // namespace vramplan::test
