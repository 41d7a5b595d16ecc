// Where each setting of a job comes from.
#pragma once
#include <string>
#include <vector>

#include "vramplan/estimate/job.h"

namespace vramplan {

std::string origins_table(const std::vector<GivenFlag>& flags);
std::string origins_json(const std::vector<GivenFlag>& flags);

}  // namespace vramplan
