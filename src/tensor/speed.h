// How long kernels take: a roofline. A kernel is as slow as the slowest of its arithmetic, its traffic with memory and
// its launch. Plain reciprocals, so that an operation costs a few multiplications; zeros when nobody asks for times.
#pragma once
#include <algorithm>
#include <array>

#include "vramplan/tensor/category.h"
#include "vramplan/tensor/dtype.h"

namespace vramplan {

inline constexpr std::size_t kTypes = static_cast<std::size_t>(DType::boolean) + 1;

struct Speed {
  std::array<double, kTypes> product{};    ///< seconds of a multiplication or addition of matrix products, by type
  std::array<double, kTypes> attention{};  ///< the same of fused attention
  double byte = 0;                         ///< seconds of a byte read or written
  double launch = 0;                       ///< seconds of a kernel that does nothing
  bool known() const { return byte > 0; }
};

/// Seconds by phase, and the multiplications and additions that were counted on the way.
struct Work {
  std::array<double, kPhaseNames.size()> seconds{}, flops{};
};

}  // namespace vramplan
