// A file that a flag names, or the file itself in the flag's place: {"file": its name, "content": what stands in it},
// as documents carry it so that they can be read back where the file is not.
#pragma once
#include <string>

namespace vramplan {

struct NamedFile {
  std::string name, content;
};

/// Throws UserError when the file cannot be read.
NamedFile read_named(const std::string& value);

/// The same as one value. Throws UserError when the content is not JSON.
std::string carried(const NamedFile& file);

}  // namespace vramplan
