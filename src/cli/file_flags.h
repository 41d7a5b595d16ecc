// What is checked of flags that name files before a command starts: that no other flag was swallowed as a name, and
// that nothing which is read, or written elsewhere, is overwritten.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace vramplan {

/// `words`: the command line behind the command, up to --. Throws UserError for an empty value after '=', and for a
/// file's name that looks like a flag.
void check_values(const std::vector<std::string>& words, const std::vector<Flag>& flags);

/// After the values are there. Throws UserError where two flags write one file, or one writes what another reads.
void check_outputs(const std::vector<Flag>& flags);

}  // namespace vramplan
