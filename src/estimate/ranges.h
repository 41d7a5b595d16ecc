// The range of every numeric setting of a job, in one table: flags, job files, the environment, rows of a table and
// golden files all pass it on their way to a run.
#pragma once
#include "vramplan/estimate/job.h"

namespace vramplan {

/// Throws UserError with the flag, its range and the value when one lies outside; nan lies outside every range.
void check_ranges(const Job& job);

}  // namespace vramplan
