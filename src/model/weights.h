// The parameters of a model on a device, made in the order and with the shapes that transformers gives them.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "tape/tape.h"
#include "vramplan/model/config.h"

namespace vramplan {

struct Parameter {
  std::string name;  ///< as in the state dict
  Tensor tensor;
};

struct NormWeights {
  Tensor weight, bias;  ///< bias null for RMSNorm
};
struct LinearWeights {
  Tensor weight, bias;  ///< bias null where there is none
};

struct LayerWeights {
  NormWeights norm1, norm2;
  LinearWeights qkv;  ///< fused (GPT-2)
  LinearWeights q, k, v, out;
  LinearWeights gate, up, down;  ///< gate null where the MLP is not gated
};

struct Weights {
  Tensor token_embedding, position_embedding;
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  Tensor head;                                               ///< the token embedding itself when tied
  Tensor inverse_frequencies, original_inverse_frequencies;  ///< buffers of rotary embeddings, fp32
  std::vector<Parameter> parameters;                         ///< each trainable tensor once, in state-dict order
};

/// Make all parameters in `dtype`; trainable, filled with small pseudo-random numbers on backends that compute.
Weights make_weights(Tape& t, const ModelConfig& c, DType dtype);

}  // namespace vramplan
