// What an estimate says of the phases that a rehearsal tells apart.
#pragma once
#include <vector>

#include "rehearse/rehearsal.h"

namespace vramplan {

struct PredictedRun {
  Estimate estimate;
  std::vector<RehearsedPhase> phases;  ///< of the second step; empty when memory runs out before its end
};

/// Throws as `estimate` does.
PredictedRun predict_run(const Job& job);

}  // namespace vramplan
