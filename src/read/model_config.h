// A Hugging Face config.json as a ModelConfig. Strict: a wrong type, a missing or contradictory field, an unknown
// model_type and a key that changes memory in a way the program does not know are errors; a key it has never heard
// of is a warning.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "vramplan/model/config.h"

namespace vramplan {

struct ReadConfig {
  ModelConfig config;
  std::vector<std::string> warnings;
};

/// `where` names the file in errors. Throws UserError.
ReadConfig read_model_config(std::string_view text, const std::string& where);
ReadConfig model_config_of(const nlohmann::ordered_json& value, const std::string& where);

/// Checks what no single field can show: heads divide, sizes are positive, the window is positive.
void check_model_config(const ModelConfig& c, const std::string& where);

}  // namespace vramplan
