// What a probe found: for people and as JSON.
#pragma once
#include <string>

#include "probe/train.h"

namespace vramplan {

std::string probe_table(const Probe& p);
std::string probe_json(const Probe& p);

}  // namespace vramplan
