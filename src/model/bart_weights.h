// The parameters of BART in the order that its modules make them.
#pragma once
#include "model/weight_builder.h"

namespace vramplan {

/// Rows of a table of positions before the first one's (BartLearnedPositionalEmbedding.offset).
inline constexpr std::int64_t kUnusedPositions = 2;

LayerWeights make_bart_decoder_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c);
void make_bart(WeightBuilder& b, const ModelConfig& c, Weights& w);

}  // namespace vramplan
