// The linear layers of one repeated layer, by the names of their modules.
#pragma once
#include <vector>

#include "model/weights.h"

namespace vramplan {

struct Projection {
  const char* parent;  ///< the module it is in, of the layer: "self_attn" ...
  const char* module;  ///< "q_proj", "down_proj" ...
  LinearWeights LayerWeights::*weights;
  std::int64_t in, out;
};

/// In the order of the layer's modules.
std::vector<Projection> projections(const ModelConfig& c);

}  // namespace vramplan
