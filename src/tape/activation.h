// Activation functions and dropout.
#pragma once
#include "tape/tape.h"

namespace vramplan {

Tensor silu(Tape& t, const Tensor& x);       ///< keeps x; one backward kernel, one result
Tensor relu(Tape& t, const Tensor& x);       ///< keeps the result
Tensor gelu(Tape& t, const Tensor& x);       ///< erf form; keeps x
Tensor gelu_tanh(Tape& t, const Tensor& x);  ///< fused tanh form; keeps x
/// The tanh form as transformers writes it in Python (NewGELUActivation, "gelu_new"): five tensors are kept.
Tensor gelu_new(Tape& t, const Tensor& x);

/// x itself when p is 0 or in eval mode; else keeps a mask, in PyTorch of one byte an element (native_dropout).
Tensor dropout(Tape& t, const Tensor& x, double p, DType mask_type = DType::boolean);

}  // namespace vramplan
