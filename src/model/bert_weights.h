// Parameters of BERT, RoBERTa and DistilBERT, in the order in which transformers 5.24 makes them.
#pragma once
#include "model/projections.h"
#include "model/weight_builder.h"

namespace vramplan {

/// Names of the norms behind the parts of a layer.
struct PartNorms {
  const char *attention, *cross, *mlp;
};
/// A layer's linear modules in their order, and behind the last of each part that part's norm.
LayerWeights make_post_norm_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c,
                                  const std::vector<Projection>& all, const PartNorms& norms);
LayerWeights make_bert_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c);
/// What stands before the layers, with its buffers.
void make_bert_embeddings(WeightBuilder& b, const ModelConfig& c, Weights& w);
/// The head behind them: a classifier's, or for masked tokens, whose matrix is made, then tied to the token embedding.
void make_bert_head(WeightBuilder& b, const ModelConfig& c, Weights& w);

}  // namespace vramplan
