#include "cli/values.h"

#include <cmath>

namespace vramplan {

double number(const std::string& text, const char* flag) {
  std::size_t used = 0;
  double v = 0;
  try {
    v = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !std::isfinite(v))
    throw UserError(fmt::format("'{}' is not a number", text), flag, "write it as 0.1", Exit::usage);
  return v;
}

}  // namespace vramplan
