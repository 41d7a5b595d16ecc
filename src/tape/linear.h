// Matrix products. Autocast runs them in its lower precision; weights are cast before inputs, as the calls of
// ATen/autocast_mode.h evaluate. Under autocast an input is cast anew for each product, a weight once a region.
#pragma once
#include "tape/tape.h"

namespace vramplan {

/// a [n, k] @ b [k, m]. Keeps a iff b wants a gradient and b iff a does; the gradient of b is made first.
Tensor mm(Tape& t, const Tensor& a, const Tensor& b);
/// bias [m] + a [n, k] @ b [k, m]. Keeps as mm; gradients in the order a, b, bias.
Tensor addmm(Tape& t, const Tensor& bias, const Tensor& a, const Tensor& b);
/// a [x, n, k] @ b [x, k, m]. Keeps as mm.
Tensor bmm(Tape& t, const Tensor& a, const Tensor& b);
/// 4-D batched product, a [b, h, n, k] @ b [b, h, k, m]: operands whose batch dimensions do not join in memory are
/// copied, and the copy is what is kept (native/LinearAlgebra.cpp, _matmul_impl).
Tensor matmul(Tape& t, const Tensor& a, const Tensor& b);

/// torch.nn.functional.linear: x [b, s, in], weight [out, in], bias [out] or null. Keeps x (or its cast) iff the
/// weight wants a gradient, the weight (or its cast) iff x does. The result of a linear with bias is a view.
Tensor linear(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& bias);
/// GPT-2's Conv1D: weight [in, out] (transformers/pytorch_utils.py).
Tensor conv1d(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace vramplan
