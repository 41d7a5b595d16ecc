// The cards of a machine, as text and as JSON.
#pragma once
#include <string>

#include "probe/device.h"

namespace vramplan {

std::string device_table(const DeviceReport& r);
std::string device_json(const DeviceReport& r);

}  // namespace vramplan
