// From bytes to a decision: the counters that tools show and whether the run gets through on the card.
#pragma once
#include "estimate/dry_run.h"
#include "estimate/overhead.h"

namespace vramplan {

/// Sets the counters of both steps as on a card that is large enough (not the first one's tensors); capacity stays 0.
void count(Estimate& e, const DryRun& run, const Overhead& o);

/// Sets the chain of capacity, verdict and margin. When the run fits only because PyTorch gives cached blocks back
/// before it fails, the verdict is `tight`, the counters are those of that run, and a warning says so.
void judge(Estimate& e, const DryRun& run, const Overhead& o);

}  // namespace vramplan
