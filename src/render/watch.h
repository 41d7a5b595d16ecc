// What a watched command took, with the quality of each figure, as text and as JSON.
#pragma once
#include <optional>
#include <string>

#include "probe/watch.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// `predicted` is set beside it.
std::string watch_table(const WatchReport& r, const std::optional<Estimate>& predicted);
/// A line for `validate`: the job and what its run took. Empty where nothing was measured. `when`: "20261130T083000".
std::string watch_row(const WatchReport& r, const Estimate& of, const std::string& when);
std::string watch_json(const WatchReport& r, const std::optional<Estimate>& predicted);

}  // namespace vramplan
