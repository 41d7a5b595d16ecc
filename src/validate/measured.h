// Published measurements beside dry runs.
#pragma once
#include "read/measured.h"
#include "validate/validate.h"

namespace vramplan {

/// The error of one row: of the counter that was read, or 0 and 1 for a verdict that is right or wrong.
ValidatedCase validate_measurement(const MeasuredRow& row);

/// Groups "measured/single-gpu", "measured/lora", "measured/fits", and one for each source within them. Shown, not
/// judged: rows leave versions and lengths open.
std::vector<ValidatedGroup> group_measurements(const std::vector<MeasuredRow>& rows, std::vector<ValidatedCase> cases);

}  // namespace vramplan
