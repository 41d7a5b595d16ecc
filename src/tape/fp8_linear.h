// Linear layers in 8-bit floats as Transformer Engine 2.20 has them (transformer_engine/pytorch/module/linear.py,
// tensor/float8_tensor.py): operands are quantised for each product, on cards before Blackwell (and on sm_120) beside
// their transposes, because those multiply rows with rows only. The products take a workspace of Transformer Engine's
// own, which lasts.
#pragma once
#include "tape/tape.h"

namespace vramplan {

/// What a layer of the delayed recipe keeps: scales and amax histories of its tensors, made in the first pass.
struct Fp8Layer {
  bool delayed = true;
  Tensor scales, history, backward_scales, backward_history;  ///< fp32 [3], [1024, 3], [2], [1024, 2]
};

/// Whether a card multiplies 8-bit floats from transposes only.
bool wants_fp8_transposes(const Device& d);
/// Transformer Engine's cuBLAS workspace.
Bytes fp8_workspace(const Device& d);

/// x [..., in] @ weight [out, in] transposed + bias [out] or null, in the type of autocast or of x. Keeps 8-bit copies:
/// of x one (its transpose) iff the weight wants a gradient, of the weight itself and its transpose. Not computed: for
/// the dry backend.
Tensor fp8_linear(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& bias, Fp8Layer& layer);

}  // namespace vramplan
