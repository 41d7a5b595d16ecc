// A linear layer of the model with whatever stands beside it: few bits, LoRA, DoRA.
#pragma once
#include "model/weights.h"

namespace vramplan {

/// x [b, s, in] -> [b, s, out], with the layer's adapter if it has one (peft/tuners/lora/layer.py): the input is cast
/// to the adapter's type, the adapter's output is added by promotion and the sum cast back. On a layer in few bits
/// (bnb.py) the adapter's output is cast, not the sum.
Tensor apply_linear(Tape& t, const LinearWeights& w, const Tensor& x);

/// tokens [b, s, h] with the embedding's adapter, if it has one (peft/tuners/lora/layer.py, Embedding): no dropout, and
/// the sum is cast back. `factor`: what the embedding is multiplied by; may be null.
Tensor adapt_embedding(Tape& t, const LinearWeights& adapter, const Tensor& ids, const Tensor& tokens,
                       const Tensor& factor);

}  // namespace vramplan
