// Other looks at the same storage: no memory forward. Their gradients are views too, except where noted.
#pragma once
#include <array>
#include <vector>

#include "tape/tape.h"

namespace vramplan {

/// `shape` may hold one -1. Throws std::logic_error when only a copy could give it. Backward reshapes: a copy when
/// the gradient's layout does not allow a view.
Tensor view(Tape& t, const Tensor& x, const Dims& shape);
/// As `view`, but the result does not count as a view of x (ATen _unsafe_view).
Tensor unsafe_view(Tape& t, const Tensor& x, const Dims& shape);
/// A view where possible, else a contiguous copy.
Tensor reshape(Tape& t, const Tensor& x, const Dims& shape);
Tensor contiguous(Tape& t, const Tensor& x);

Tensor transpose(Tape& t, const Tensor& x, int a, int b);
/// Elements [start, end) of dimension `dim`. Backward makes zeros of the whole shape and copies into them.
Tensor slice(Tape& t, const Tensor& x, int dim, std::int64_t start, std::int64_t end);
/// Three equal parts of the last dimension by one node. Backward joins the gradients in a new tensor.
std::array<Tensor, 3> split3(Tape& t, const Tensor& x);
/// Parts of dimension `dim` of these sizes by one node (torch.split, torch.chunk). Backward waits for all gradients and
/// joins them in a new tensor.
std::vector<Tensor> split(Tape& t, const Tensor& x, int dim, const std::vector<std::int64_t>& sizes);
Tensor unsqueeze(Tape& t, const Tensor& x, int dim);
/// Repeat dimensions of size 1. Backward sums.
Tensor expand(Tape& t, const Tensor& x, const Dims& shape);
/// A new tensor: a and b joined along a dimension; autocast casts the narrower first. Keeps nothing; gradients are
/// views of the gradient.
Tensor cat(Tape& t, const Tensor& a, const Tensor& b, int along);

/// torch.cat of an empty tensor and x: a contiguous copy. Its gradient is a view.
Tensor cat_with_nothing(Tape& t, const Tensor& x);

/// No gradient: used by backward functions.
Tensor transposed(Tape& t, const Tensor& x, int a, int b);

}  // namespace vramplan
