// Ctrl-C as a question, not an end: while one of these lives, an interrupt sets a flag; a second one ends the program.
#pragma once
#include <atomic>

namespace vramplan {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  static const std::atomic<bool>& asked();
};

}  // namespace vramplan
