// Memory against N as text, JSON and CSV.
#pragma once
#include <string>

#include "render/table.h"
#include "vramplan/plan/plan.h"

namespace vramplan {

std::string curve_table(const Curve& c, const TextStyle& style);
std::string curve_json(const Curve& c);
std::string curve_csv(const Curve& c);

}  // namespace vramplan
