#include "cli/output.h"

#include <fmt/format.h>

#include <fstream>

#include "vramplan/base/error.h"

namespace vramplan {

void write_output(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw UserError("cannot be written", path, "check the folder and the space left on it");
}

void append_to(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out << text;
  out.close();
  if (!out) throw UserError("cannot be written", path, "check the folder and the space left on it");
}

}  // namespace vramplan
