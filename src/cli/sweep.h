// Every combination of some flags' values, run on all cores, in a fixed order.
#pragma once
#include <string>
#include <vector>

#include "cli/job_flags.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

struct SweepRow {
  std::vector<std::string> values;  ///< of the swept flags, in their order
  std::string error;                ///< why this combination is no job; empty otherwise
  Estimate estimate;                ///< without breakdown
};

struct SweepTable {
  std::vector<std::string> flags;  ///< without dashes
  std::vector<SweepRow> rows;      ///< the last flag varies fastest
};

/// "micro-batch=1,2,4", "seq=1024..8192*2" (times), "layers=2..10+4" (plus), "micro-batch=1..8", "segments=all" (1 to
/// the model's layers). Throws UserError, also for more than a million combinations.
SweepTable run_sweep(const JobFlags& base, const std::vector<std::string>& sweeps, const Context& context);

std::string sweep_text(const SweepTable& table);
std::string sweep_csv(const SweepTable& table);
std::string sweep_json(const SweepTable& table);

}  // namespace vramplan
