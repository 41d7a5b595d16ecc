// What a watched command took, with the quality of each figure, as text and as JSON.
#pragma once
#include <optional>
#include <string>

#include "probe/watch.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// `predicted` is set beside it.
std::string watch_table(const WatchReport& r, const std::optional<Estimate>& predicted);
std::string watch_json(const WatchReport& r, const std::optional<Estimate>& predicted);

}  // namespace vramplan
