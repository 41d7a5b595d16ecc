// A rehearsal as text and JSON.
#pragma once
#include <optional>
#include <string>

#include "rehearse/rehearsal.h"

namespace vramplan {

/// The verdict first, then counters by rank and step, then the lines of the program that hold most. With `predicted`,
/// its counters beside them.
std::string rehearsal_table(const Rehearsal& r, const std::optional<Estimate>& predicted);
/// {"kind": "rehearsal", "verdict", "counters", "processes", ...}; bytes are integers. `expandable`: the same program
/// with expandable segments.
std::string rehearsal_json(const Rehearsal& r, const std::optional<Estimate>& predicted,
                           const std::optional<Rehearsal>& expandable = {});
/// What expandable segments change.
std::string expandable_line(const Rehearsal& r, const Rehearsal& expandable);

}  // namespace vramplan
