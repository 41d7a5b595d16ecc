// Shapes and strides, in elements, at most five of them; and the rules by which PyTorch decides whether a
// reshape is a view or a copy and how an elementwise result is laid out (ATen/TensorUtils.cpp computeStride,
// ATen/TensorIterator.cpp reorder_dimensions). These rules decide which tensors exist.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/inline_vector.h"

namespace vramplan {

class Dims : public InlineVector<std::int64_t, 5> {
 public:
  using InlineVector::InlineVector;
  bool operator==(const Dims& o) const {
    if (size() != o.size()) return false;
    for (std::size_t i = 0; i < size(); ++i)
      if ((*this)[i] != o[i]) return false;
    return true;
  }
  /// A dimension counted from the end when negative.
  std::int64_t at(int i) const { return (*this)[static_cast<std::size_t>(i < 0 ? i + static_cast<int>(size()) : i)]; }
  int rank() const { return static_cast<int>(size()); }
};

/// Product of the dimensions; 1 for a scalar. Throws Overflow.
std::int64_t count(const Dims& shape);
Dims contiguous_strides(const Dims& shape);
bool is_contiguous(const Dims& shape, const Dims& strides);
/// Every element has its own place and the places have no gaps, in whatever order.
bool is_dense(const Dims& shape, const Dims& strides);
/// The shape both operands broadcast to; throws std::logic_error when they do not.
Dims broadcast(const Dims& a, const Dims& b);
/// Strides of `shape`, `strides` seen as the larger `to`: 0 where a dimension is repeated.
Dims expanded_strides(const Dims& shape, const Dims& strides, const Dims& to);
/// Strides that make the same elements look like `to`, or nothing when only a copy can.
std::optional<Dims> view_strides(const Dims& shape, const Dims& strides, const Dims& to);
/// Fill one -1 in `to` so that it has as many elements as `shape`.
Dims resolved(const Dims& shape, Dims to);

/// The same with another last dimension.
Dims with_last(const Dims& shape, std::int64_t last);

struct Operand {
  const Dims* shape;
  const Dims* strides;
};
/// Strides of a new elementwise result of `shape`: dimensions in the order of the operands' memory, no gaps.
Dims elementwise_strides(const Dims& shape, const Operand* operands, int n);
/// Strides of empty_like: the operand's own when dense, else its order without gaps.
Dims like_strides(const Dims& shape, const Dims& strides);

std::string to_string(const Dims& d);

}  // namespace vramplan
