#include "model/bert.h"

#include <cmath>

#include "model/adapted_linear.h"
#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/embedding.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/view.h"

namespace vramplan {
namespace {

/// RoBERTa counts the tokens that are not padding: create_position_ids_from_input_ids. None is padding here.
Tensor counted_positions(Tape& t, const ModelConfig& c, std::int64_t b, std::int64_t s) {
  Memory& m = t.memory();
  auto make = [&](DType type, const char* op) { return m.empty({b, s}, type, op); };
  constexpr DType kInt32 = DType::fp32;  // as wide
  Tensor differs = make(DType::boolean, "ne");
  Tensor counts = make(kInt32, "_to_copy");
  differs.reset();
  Tensor sum = make(DType::int64, "cumsum");
  Tensor narrow = make(kInt32, "_to_copy");
  sum.reset();
  Tensor behind = make(kInt32, "add");
  narrow.reset();
  const Tensor masked = make(kInt32, "mul");
  behind.reset();
  const Tensor wide = make(DType::int64, "_to_copy");
  Tensor positions = make(DType::int64, "add");
  count_in_rows(t, positions, static_cast<double>(c.first_position));
  return positions;
}

/// Kind 0 for every token: gathered at the positions from a buffer of zeros.
Tensor token_kinds(Tape& t, const Tensor& positions, std::int64_t b) {
  const Tensor kinds = filled(t, positions.shape(), DType::int64, 0, "gather");
  return expand(t, kinds, {b, positions.size(1)});
}

Tensor embed(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch) {
  At here(t, "embeddings");
  const std::int64_t b = batch.ids.size(0), s = batch.ids.size(1);
  const Tensor positions = c.first_position > 0 ? counted_positions(t, c, b, s) : slice(t, w.position_ids, 1, 0, s);
  Tensor kinds;
  if (c.token_types > 0) kinds = token_kinds(t, positions, b);
  Tensor placed, of_kinds, tokens;  // locals of a Python function go in the other order
  tokens = embedding(t, w.token_embedding, batch.ids);
  tokens = adapt_embedding(t, w.token_adapter, batch.ids, tokens, {});
  if (batch.embeddings_want_grad) tokens->requires_grad = true;
  Tensor sum = tokens;
  if (kinds) {
    of_kinds = embedding(t, w.type_embedding, kinds);
    sum = add(t, tokens, of_kinds);
  }
  placed = embedding(t, w.position_embedding, positions);
  sum = add(t, sum, placed);
  sum = apply_norm(t, c, w.embedding_norm, sum);
  return dropout(t, sum, c.embedding_dropout);
}

/// BertSelfAttention.forward, and the projection behind it where DistilBERT has that.
EagerAttention attention(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x,
                         const AttentionChoice& choice) {
  auto project = [&](const LinearWeights& p) {
    return transpose(t, view(t, apply_linear(t, p, x), {x.size(0), x.size(1), -1, c.head_dim}), 1, 2);
  };
  const Tensor q = project(w.q), k = project(w.k), v = project(w.v);  // [b, a, s, d]
  EagerAttention a = attend(t, c, q, k, v, {}, false, choice);
  a.out = contiguous(t, reshape(t, a.out, {x.size(0), x.size(1), -1}));
  if (distilled(c)) a.out = apply_linear(t, w.out, a.out);
  return a;
}

/// BertSelfOutput and BertOutput: the half's result, dropped and added to what it began with.
Tensor closed(Tape& t, const ModelConfig& c, Tensor half, const Tensor& x, const NormWeights& norm, double drop) {
  half = dropout(t, half, drop);
  half = apply_norm(t, c, norm, add(t, half, x));
  return half;
}

Tensor bert_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x,
                  const AttentionChoice& choice) {
  EagerAttention a;  // its probabilities live until the layer returns
  Tensor attended;
  {
    At here(t, "attention");
    a = attention(t, c, w, x, choice);
    attended = distilled(c) ? closed(t, c, std::move(a.out), x, w.norm1, 0)
                            : closed(t, c, apply_linear(t, w.out, a.out), x, w.norm1, c.residual_dropout);
    a.out.reset();
  }
  At here(t, "mlp");
  Tensor inner = apply_linear(t, w.up, attended);  // [b, s, f]
  inner = apply_activation(t, c.mlp, inner);
  Tensor out = apply_linear(t, w.down, inner);
  if (distilled(c)) inner.reset();
  return closed(t, c, std::move(out), attended, w.norm2, c.residual_dropout);
}

}  // namespace

EagerAttention attend(Tape& t, const ModelConfig& c, const Tensor& q, const Tensor& k, const Tensor& v,
                      const Tensor& mask, bool causal, const AttentionChoice& choice) {
  const double factor = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  if (choice.eager) {
    EagerArgs eager = choice.kept;
    eager.scale = factor;
    eager.dropout = c.attention_dropout;
    return eager_attention_bert(t, q, k, v, mask, eager);
  }
  const SdpaArgs args{factor, t.training ? c.attention_dropout : 0, causal && q.size(2) > 1, false, choice.kernel};
  const Tensor out = sdpa(t, q, k, v, mask, args);
  return {contiguous(t, transpose(t, out, 1, 2)), {}};
}

Tensor bert_body(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const AttentionChoice& choice,
                 const RunStack& run) {
  const Tensor embedded = embed(t, c, w, batch);
  LayerStack stack;
  stack.count = c.layers;
  stack.run = [&t, &c, &w, choice](std::int64_t i, const Tensor& x, const Arguments&) {
    At here(t, "layer", static_cast<int>(i));
    return bert_layer(t, c, w.layers[static_cast<std::size_t>(i)], x, choice);
  };
  return run(t, stack, embedded);
}

ModelOutput masked_lm(Tape& t, const ModelConfig& c, const Weights& w, const Tensor& hidden, const Tensor& labels) {
  Tensor logits;
  {
    At here(t, "lm_head");
    Tensor x = apply_linear(t, w.masked.dense, hidden);
    x = apply_activation(t, c.mlp, x);
    x = apply_norm(t, c, w.masked.norm, x);
    logits = linear(t, x, w.head, w.masked.bias);  // [b, s, v]
  }
  At here(t, "loss");
  return {cross_entropy(t, view(t, logits, {-1, logits.size(-1)}), view(t, labels, {-1})), logits};
}

ModelOutput pooled_classifier(Tape& t, const ModelConfig& c, const Weights& w, const Tensor& hidden,
                              const Tensor& labels, LossForm form) {
  Tensor logits;
  {
    At here(t, "classifier");
    Tensor x = view(t, slice(t, hidden, 1, 0, 1), {hidden.size(0), hidden.size(2)});
    if (c.architecture == Architecture::roberta) x = dropout(t, x, c.classifier_dropout);
    x = apply_linear(t, w.pooled.dense, x);
    x = distilled(c) ? relu(t, x) : tanh(t, x);
    x = dropout(t, x, c.classifier_dropout);
    logits = apply_linear(t, w.pooled.out, x);
  }
  At here(t, "loss");
  return {label_loss(t, form, logits, labels), logits};
}

}  // namespace vramplan
