// What to change, for people and as JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "vramplan/estimate/estimate.h"

namespace vramplan {

std::string advice_table(const AdviceList& list);
nlohmann::ordered_json advice_json(const AdviceList& list);

}  // namespace vramplan
