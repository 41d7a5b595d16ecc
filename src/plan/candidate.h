// From an estimate to a candidate of a plan.
#pragma once
#include "vramplan/plan/plan.h"

namespace vramplan {

Candidate candidate_of(const Estimate& e, std::string what);
/// Whether it counts as fitting.
bool good_enough(const Candidate& c, const PlanOptions& options);
/// Throws UserError when the job names no card.
void need_card(const Job& job);

}  // namespace vramplan
