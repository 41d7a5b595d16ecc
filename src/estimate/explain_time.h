// What recomputation costs: the textbook's 4/3, what the program counts, what a roofline makes of it.
#pragma once
#include "vramplan/estimate/explain.h"

namespace vramplan {

/// Three rows: "flops", "time", "throughput". A job without checkpointing is compared with itself per layer.
std::vector<ShareRow> recompute_rows(const Job& job);

}  // namespace vramplan
