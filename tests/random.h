// Random numbers for property tests and fuzzing: the same on every run, 32 bits wide.
#pragma once
#include <cstdint>
#include <random>

namespace vramplan::test {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

}  // namespace vramplan::test
