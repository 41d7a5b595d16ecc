// FNV-1a, over whole numbers: tells apart what differs by chance, not what differs on purpose.
#pragma once
#include <cstdint>

namespace vramplan {

class Fnv {
 public:
  void add(std::uint64_t n) { hash_ = (hash_ ^ n) * 1099511628211ULL; }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 1469598103934665603ULL;
};

}  // namespace vramplan
