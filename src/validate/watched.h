// Rows that `probe watch --append` writes: a job, and the counters of a real run of it. The prediction is the estimate
// of that job.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/validate.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

/// Whether a line is such a row.
bool is_watched(std::string_view line);

/// One case for each counter of each line, in the groups "STEM.allocated", "STEM.reserved", "STEM.device_used". A row
/// whose job cannot be read is not expressed. Throws UserError for a line that is no such row.
std::vector<ValidatedGroup> validate_watched(const std::vector<std::string>& lines, const std::string& path,
                                             const JobOfRow& job_of);

}  // namespace vramplan
