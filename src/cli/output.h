// Files that a command writes beside its standard output.
#pragma once
#include <string>

namespace vramplan {

/// "-" is standard output. Throws UserError when the file cannot be written whole.
void write_output(const std::string& path, const std::string& text);
/// At the end of a file, which is made where there is none. Throws UserError.
void append_to(const std::string& path, const std::string& text);

}  // namespace vramplan
