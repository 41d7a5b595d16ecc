// The table of subcommands, in the order of help, and the flags that all of them have.
#pragma once
#include "cli/command.h"

namespace vramplan {

struct GlobalValues {
  std::string data_dir, colour = "auto";
  bool json = false, quiet = false;
};

std::vector<std::unique_ptr<Command>> all_commands();

/// The command's own and those of all commands; targets in `command` and `values`.
std::vector<Flag> flags_of(Command& command, GlobalValues& values);

}  // namespace vramplan
