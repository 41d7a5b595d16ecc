// DoRA, weight-decomposed low-rank adaptation (arXiv 2402.09353), as peft/tuners/lora/dora.py 0.21 computes it: each
// pass makes B A and its sum with the weight, both of the weight's size, to find the norms of that sum's rows.
#pragma once
#include "model/weights.h"

namespace vramplan {

/// lora_magnitude_vector [out] of a new layer: the row norms of the weight, in its type. With what making it leaves
/// in the allocator.
Tensor initial_magnitude(Tape& t, const LinearWeights& w);

/// The layer's `result` for input x [b, s, in], in the adapter's type, plus what the adapter adds to it. With dropout
/// in training x is dropped and multiplied by a copy of the weight in x's type, which backward keeps; else `result` is
/// used again.
Tensor add_dora(Tape& t, const LinearWeights& w, const Tensor& x, const Tensor& result);

}  // namespace vramplan
