// Plans as text, JSON and CSV.
#pragma once
#include <string>

#include "render/table.h"
#include "vramplan/plan/plan.h"

namespace vramplan {

/// The answer first, then the candidates worth seeing, or all of them, each dominated one with what dominates it.
std::string plan_table(const Plan& plan, bool all);
/// {"question", "answer", "candidates"}: every candidate, bytes as integers.
/// `job`: what was asked about.
std::string plan_json(const Plan& plan, const Job& job);

}  // namespace vramplan
