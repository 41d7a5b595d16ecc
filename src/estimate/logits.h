// The logits of a step, found among its tensors.
#pragma once
#include <optional>

#include "estimate/dry_run.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// Of the second step; nothing where no tensor is a logit's, as in the textbook block.
std::optional<Logits> logits_of(const DryRun& run, const Job& job);

}  // namespace vramplan
