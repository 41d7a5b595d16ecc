// A calibration file: what was measured on a card, in the place of stated defaults.
#pragma once
#include <string>
#include <string_view>

#include "vramplan/hardware/calibration.h"

namespace vramplan {

/// {"context_bytes": n, "efficiency": {"matrix": x, "attention": x, "memory": x}, "launch_us": x}, all optional. Throws
/// UserError for anything else; `where` names the file.
Calibration read_calibration(std::string_view text, const std::string& where);

}  // namespace vramplan
