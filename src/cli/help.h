// Help and the manual page, made from the tables of flags.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace vramplan {

/// Everyday flags by group, or `all` of them; examples; exit statuses. No line is wider than `width`, but for examples.
std::string command_help(Command& command, bool all, std::size_t width);
/// What the program is for, its commands, examples.
std::string program_help(std::size_t width);
/// vramplan(1) as roff.
std::string manual_page();

}  // namespace vramplan
