#include "model/bart_weights.h"

#include <optional>

#include "model/bert_weights.h"
#include "model/names.h"
#include "tape/elementwise.h"

namespace vramplan {
namespace {

constexpr PartNorms kNorms{"self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"};

/// Where parameters are booked while it lives; nowhere in counting mode.
class InLayer {
 public:
  InLayer(WeightBuilder& b, std::int64_t i) {
    if (b.tape()) here_.emplace(*b.tape(), "weights", static_cast<int>(i));
  }

 private:
  std::optional<At> here_;
};

/// Each stack makes an embedding of its own, which is the shared one in the end.
Tensor make_untied(WeightBuilder& b, const ModelConfig& c) {
  if (!b.tape()) return {};
  b.make("tied", {c.vocab, c.hidden});
  return b.take_last().tensor;
}

Tensor make_positions(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  return b.make(at + "embed_positions.weight", {c.positions + kUnusedPositions, c.hidden});
}

void make_encoder(WeightBuilder& b, const ModelConfig& c, SourceWeights& w) {
  const std::string at = "model.encoder.";
  w.position_embedding = make_positions(b, at, c);
  for (std::int64_t i = 0; i < c.source.layers; ++i) {
    const InLayer here(b, i);
    w.layers.push_back(make_post_norm_layer(b, source_layer_name(i), c, source_projections(c), kNorms));
  }
  w.embedding_norm = b.norm(at + "layernorm_embedding", c);
}

void make_decoder(WeightBuilder& b, const ModelConfig& c, Weights& w) {
  const std::string at = "model.decoder.";
  w.position_embedding = make_positions(b, at, c);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const InLayer here(b, i);
    w.layers.push_back(make_bart_decoder_layer(b, layer_name(c.architecture, i), c));
  }
  w.embedding_norm = b.norm(at + "layernorm_embedding", c);
}

}  // namespace

LayerWeights make_bart_decoder_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  return make_post_norm_layer(b, at, c, projections(c), kNorms);
}

void make_bart(WeightBuilder& b, const ModelConfig& c, Weights& w) {
  w.head = w.token_embedding = b.make("model.shared.weight", {c.vocab, c.hidden});
  {
    const Tensor of_encoder = make_untied(b, c);
    make_encoder(b, c, w.source);
    const Tensor of_decoder = make_untied(b, c);
    make_decoder(b, c, w);
  }
  if (!b.tape()) return;
  w.logits_bias = filled(*b.tape(), {1, c.vocab}, w.head.dtype(), 0, "buffer");
  make_untied(b, c);  // the head's
}

}  // namespace vramplan
