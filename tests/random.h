// Random numbers for property tests and fuzzing: the same on every run, 32 bits wide.
#pragma once
#include <cstdint>
#include <random>

namespace vramplan::test {

/// Under sanitizers a test takes ten times as long: then it tries one in so many of its random or golden cases.
#ifdef VRAMPLAN_SANITIZED
constexpr int kThinned = 5;
#else
constexpr int kThinned = 1;
#endif

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

}  // namespace vramplan::test
