// --sweep: every combination of some flags' values.
#pragma once
#include <string>
#include <vector>

#include "cli/job_flags.h"
#include "plan/sweep.h"

namespace vramplan {

struct SweepFlags {
  std::vector<std::string> sweeps;  ///< "micro-batch=1,2,4", "seq=1024..8192*2", "layers=2..10+4", "segments=all"
  std::string jobs, top, where, sort;
};

/// Runs them all, with progress on standard error when that is a terminal; on an interrupt, the rows until then. Throws
/// UserError, also for more than a million combinations, before any is run.
SweepTable run_sweep(const JobFlags& base, const SweepFlags& asked, const Context& context);

}  // namespace vramplan
