// The words that a flag takes, where it takes one of a few.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace vramplan {

/// `flag` without dashes. Of words that take a number ("segments:N") only those before the colon are complete; empty
/// for a flag that takes anything else.
std::vector<std::string> known_values(const std::string& flag, const Context& context);

}  // namespace vramplan
