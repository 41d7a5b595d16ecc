// Rows of a sweep: for people, as CSV, as JSON.
#pragma once
#include <string>

#include "plan/sweep.h"

namespace vramplan {

std::string sweep_text(const SweepTable& table);
std::string sweep_csv(const SweepTable& table);
std::string sweep_json(const SweepTable& table);

}  // namespace vramplan
