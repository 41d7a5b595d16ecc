// Two jobs side by side, as text and as JSON.
#pragma once
#include <string>

#include "vramplan/estimate/compare.h"

namespace vramplan {

std::string compare_table(const Comparison& c);
std::string compare_json(const Comparison& c);

}  // namespace vramplan
