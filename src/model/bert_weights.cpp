#include "model/bert_weights.h"

#include "model/bert.h"
#include "tape/elementwise.h"

namespace vramplan {
namespace {

/// Names of the modules that have no adapter.
struct Names {
  const char* root;
  PartNorms norms;             ///< of one layer
  const char *norm, *decoder;  ///< of the head
};
constexpr Names kBert{"bert.",
                      {"attention.output.LayerNorm", "", "output.LayerNorm"},
                      "cls.predictions.transform.LayerNorm",
                      "cls.predictions.decoder."};
constexpr Names kDistilBert{
    "distilbert.", {"sa_layer_norm", "", "output_layer_norm"}, "vocab_layer_norm", "vocab_projector."};

Names names_of(const ModelConfig& c) {
  if (c.architecture == Architecture::distilbert) return kDistilBert;
  Names n = kBert;
  if (c.architecture == Architecture::roberta)
    n.root = "roberta.", n.norm = "lm_head.layer_norm", n.decoder = "lm_head.decoder.";
  return n;
}

/// An int64 buffer [1, positions]: their numbers, or zeros.
Tensor number_buffer(WeightBuilder& b, const ModelConfig& c, bool zeros) {
  if (!b.tape()) return {};
  Tensor x = b.tape()->memory().empty({1, c.positions}, DType::int64, "buffer");
  zeros ? b.tape()->backend().fill(x, 0) : b.tape()->backend().arange(x, 0);
  return x;
}

/// post_init fills the position numbers once more, from an arange of its own.
void initialise_positions(WeightBuilder& b, const ModelConfig& c) {
  if (b.tape()) arange(*b.tape(), c.positions);
}

/// The head's bias stands beside the module and in it (BERT, RoBERTa): all three were made before they became one.
void tie_head(WeightBuilder& b, const ModelConfig& c, Weights& w, const std::string& at) {
  w.head = b.make(at + "weight", {c.vocab, c.hidden});
  w.masked.bias = b.make(at + "bias", {c.vocab});
  if (!b.tape()) {
    if (c.tied) b.elements -= c.vocab * c.hidden;
    return;
  }
  Memory& m = b.tape()->memory();
  auto bias = [&] { return m.empty({c.vocab}, w.masked.bias.dtype(), "parameter"); };
  auto settle = [&](const Tensor& x) { w.masked.bias->storage = x->storage; };
  Tensor beside;
  if (!distilled(c)) beside = bias();
  if (c.tied) {
    const Parameter made = b.take_last();
    b.take_last();
    w.head = w.token_embedding;
    b.parameters.push_back(made);
  }
  Tensor copy = bias();
  b.tape()->backend().unary(Unary::copy, copy, w.masked.bias, 0);
  settle(copy);
  if (distilled(c)) return;
  copy.reset();
  Tensor second = bias();
  b.tape()->backend().unary(Unary::copy, second, w.masked.bias, 0);
  settle(second);
}

/// BERT's pooler is a part of the model, those of the others of their heads.
void make_pooled_head(WeightBuilder& b, const ModelConfig& c, PooledHead& w) {
  const bool bert = c.architecture == Architecture::bert, roberta = c.architecture == Architecture::roberta;
  if (!bert) initialise_positions(b, c);
  w.dense = b.linear(head_projection(c)->path, c.hidden, c.hidden, true);
  if (bert) initialise_positions(b, c);
  w.out = b.linear(roberta ? "classifier.out_proj" : "classifier", c.hidden, c.labels, true);
}

}  // namespace

LayerWeights make_post_norm_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c,
                                  const std::vector<Projection>& all, const PartNorms& norms) {
  LayerWeights w;
  for (const Projection& p : all) {
    w.*p.weights = b.linear(at + p.path, p.in, p.out, true);
    if (p.weights == &LayerWeights::out) w.norm1 = b.norm(at + norms.attention, c);
    if (p.weights == &LayerWeights::cross_out) w.cross_norm = b.norm(at + norms.cross, c);
    if (p.weights == &LayerWeights::down) w.norm2 = b.norm(at + norms.mlp, c);
  }
  return w;
}

LayerWeights make_bert_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  return make_post_norm_layer(b, at, c, projections(c), names_of(c).norms);
}

void make_bert_embeddings(WeightBuilder& b, const ModelConfig& c, Weights& w) {
  const std::string at = std::string(names_of(c).root) + "embeddings.";
  const bool positions_last = c.architecture == Architecture::roberta;
  auto positions = [&] { w.position_embedding = b.make(at + "position_embeddings.weight", {c.positions, c.hidden}); };
  w.token_embedding = b.make(at + "word_embeddings.weight", {c.vocab, c.hidden});
  if (!positions_last) positions();
  if (c.token_types > 0) w.type_embedding = b.make(at + "token_type_embeddings.weight", {c.token_types, c.hidden});
  w.embedding_norm = b.norm(at + "LayerNorm", c);
  w.position_ids = number_buffer(b, c, false);
  if (c.token_types > 0) w.type_ids = number_buffer(b, c, true);
  if (positions_last) positions();
}

void make_bert_head(WeightBuilder& b, const ModelConfig& c, Weights& w) {
  if (c.labels > 0) return make_pooled_head(b, c, w.pooled);
  initialise_positions(b, c);
  const Names n = names_of(c);
  w.masked.dense = b.linear(head_projection(c)->path, c.hidden, c.hidden, true);
  w.masked.norm = b.norm(n.norm, c);
  tie_head(b, c, w, n.decoder);
}

}  // namespace vramplan
