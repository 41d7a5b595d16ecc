// Values of flags that nobody typed: the environment's VRAMPLAN_MICRO_BATCH and its like, and the user's defaults file.
#pragma once
#include <string>
#include <vector>

#include "read/job_file.h"

namespace vramplan {

/// What lies under the command line and a job file, the highest first. An unknown name in the environment is a warning.
struct Ambient {
  JobFile environment, defaults;
};

/// `known`: flags of a job with their dashes. The defaults file is $XDG_CONFIG_HOME/vramplan/defaults.json, or
/// ~/.config/vramplan/defaults.json; it need not exist. Throws UserError when it cannot be read.
Ambient ambient_values(const std::vector<std::string>& known);

/// "--micro-batch" is VRAMPLAN_MICRO_BATCH.
std::string variable_of(const std::string& flag);

}  // namespace vramplan
