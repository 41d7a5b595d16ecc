// The cards of a machine and what a process costs on one, as text and as JSON.
#pragma once
#include <string>

#include "probe/device.h"
#include "probe/overhead.h"

namespace vramplan {

std::string device_table(const DeviceReport& r);
std::string device_json(const DeviceReport& r);

std::string overhead_table(const OverheadReport& r);
std::string overhead_json(const OverheadReport& r);
/// A file for --calibration.
std::string calibration_json(const OverheadReport& r);

}  // namespace vramplan
