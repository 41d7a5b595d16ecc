// What can stand where the cursor is: commands, flags, and the values of flags that take one of a few words.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace vramplan {

struct Completion {
  std::string word, help;
};

/// `words`: the command line behind the program's name, the last one unfinished and perhaps empty. Nothing where a file
/// or a number is wanted.
std::vector<Completion> completions_of(const std::vector<std::string>& words, const Context& context);

/// What a shell sources. Throws UserError for one that is not known.
std::string completion_script(const std::string& shell);

/// A line a candidate, as that shell's script reads it.
std::string completion_lines(const std::vector<Completion>& found, const std::string& shell);

}  // namespace vramplan
