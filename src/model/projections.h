// The linear layers of a model that can have an adapter, by the names of their modules.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/weights.h"

namespace vramplan {

struct Projection {
  const char* path;  ///< of its module, seen from the layer: "self_attn.q_proj" ...
  LinearWeights LayerWeights::*weights;
  std::int64_t in, out;
};

/// Of one repeated layer, in the order of its modules.
std::vector<Projection> projections(const ModelConfig& c);
/// Of one layer of the encoder before a decoder.
std::vector<Projection> source_projections(const ModelConfig& c);

/// Between an encoder's layers and its last matrix.
struct HeadProjection {
  const char* path;
  LinearWeights& (*weights)(Weights&);
  std::int64_t in, out;
};
std::optional<HeadProjection> head_projection(const ModelConfig& c);

/// Where the tokens' embedding is, which can have an adapter too; null where that is not modelled.
const char* embedding_path(const ModelConfig& c);

/// What users name as targets: the last parts of the paths, each once.
std::vector<std::string> adapter_modules(const ModelConfig& c);

}  // namespace vramplan
