// Thrown while a case or a row is read that the program has no words for: counted by reason, never guessed.
#pragma once
#include <string>

namespace vramplan {

struct NotExpressed {
  std::string why;
};

}  // namespace vramplan
