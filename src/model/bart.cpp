#include "model/bart.h"

#include <algorithm>
#include <cmath>

#include "model/adapted_linear.h"
#include "model/bart_weights.h"
#include "model/bert.h"
#include "model/positions.h"
#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/embedding.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/view.h"

namespace vramplan {
namespace {

/// shift_tokens_right: the labels one place later, behind a token that starts the sequence. [b, t]
Tensor shifted_right(Tape& t, const Tensor& labels, std::int64_t vocab) {
  constexpr std::int64_t kStart = 2;  // decoder_start_token_id
  const std::int64_t n = labels.size(1);
  Backend& backend = t.backend();
  Tensor ids = filled(t, labels.shape(), DType::int64, 0, "new_zeros");
  backend.unary(Unary::copy, slice(t, ids, 1, 1, n), clone(t, slice(t, labels, 1, 0, n - 1)), 0);
  backend.fill(slice(t, ids, 1, 0, 1), static_cast<double>(std::min(kStart, vocab - 1)));
  const Tensor ignored = t.memory().empty(ids.shape(), DType::boolean, "eq");  // of labels that are -100: none here
  return ids;
}

/// BartScaledWordEmbedding; each stack has a module of its own for it.
Tensor embed_tokens(Tape& t, const ModelConfig& c, const Weights& w, const Tensor& ids, bool wants_grad) {
  const double factor = c.scales_embedding ? std::sqrt(static_cast<double>(c.hidden)) : 1;
  Tensor tokens = scale(t, embedding(t, w.token_embedding, ids), factor);
  if (wants_grad) tokens->requires_grad = true;
  return tokens;
}

/// The four matrices of an attention.
struct Projections {
  const LinearWeights &q, &k, &v, &out;
};
/// How one attention differs from the others of its layer.
struct AttentionCall {
  std::int64_t heads = 0;
  Tensor states;  ///< where keys and values are made from, [b, s, h]
  Tensor mask;
  bool causal = false;
};

/// BartAttention.forward on queries from x [b, t, h].
EagerAttention attention(Tape& t, const ModelConfig& c, const Projections& w, const Tensor& x,
                         const AttentionCall& call, const AttentionChoice& choice) {
  auto project = [&](const LinearWeights& p, const Tensor& from) {
    const Dims heads{from.size(0), from.size(1), -1, c.hidden / call.heads};
    return transpose(t, view(t, apply_linear(t, p, from), heads), 1, 2);
  };
  Tensor v, k, q;  // locals of a Python function go in the other order
  q = project(w.q, x);
  k = project(w.k, call.states);
  v = project(w.v, call.states);
  EagerAttention a = attend(t, c, q, k, v, call.mask, call.causal, choice);
  a.out = contiguous(t, reshape(t, a.out, {x.size(0), x.size(1), -1}));
  a.out = apply_linear(t, w.out, a.out);
  return a;
}

/// A part's result, dropped and added to what the part began with.
Tensor closed(Tape& t, const ModelConfig& c, Tensor part, const Tensor& residual, const NormWeights& norm) {
  part = dropout(t, part, c.residual_dropout);
  part = add(t, residual, part);
  return apply_norm(t, c, norm, part);
}

Tensor feed_forward(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x) {
  At here(t, "mlp");
  Tensor hidden = apply_activation(t, c.mlp, apply_linear(t, w.up, x));  // [b, s, f]
  hidden = dropout(t, hidden, c.activation_dropout);
  hidden = apply_linear(t, w.down, hidden);
  return closed(t, c, std::move(hidden), x, w.norm2);
}

Tensor self_attention(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const AttentionCall& call,
                      const AttentionChoice& choice, EagerAttention& a) {
  At here(t, "self_attn");
  a = attention(t, c, {w.q, w.k, w.v, w.out}, x, call, choice);
  return closed(t, c, std::move(a.out), x, w.norm1);
}

/// torch.isfinite(x).all(): only its temporaries matter, its answer is "all are".
void ask_whether_finite(Tape& t, const Tensor& x) {
  auto make = [&](DType type, const char* op) { return t.memory().empty(x.shape(), type, op); };
  Tensor both;
  {
    const Tensor size = make(x.dtype(), "abs"), bounded = make(DType::boolean, "ne");
    const Tensor number = make(DType::boolean, "eq");
    both = make(DType::boolean, "mul");
  }
  const Tensor answer = t.memory().empty({}, DType::boolean, "all");
  both.reset();
}

/// BartEncoderLayer.forward.
Tensor encoder_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x,
                     const AttentionChoice& choice) {
  EagerAttention a;  // its probabilities live until the layer returns
  Tensor hidden = self_attention(t, c, w, x, {c.source.heads, x, {}, false}, choice, a);
  hidden = feed_forward(t, c, w, hidden);
  if (hidden.dtype() == DType::fp16) ask_whether_finite(t, hidden);
  return hidden;
}

/// BartDecoderLayer.forward.
Tensor decoder_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Arguments& given,
                     const AttentionChoice& choice) {
  EagerAttention a;
  Tensor hidden = self_attention(t, c, w, x, {c.heads, x, given.mask, !given.mask}, choice, a);
  {
    At here(t, "encoder_attn");
    a = attention(t, c, {w.cross_q, w.cross_k, w.cross_v, w.cross_out}, hidden, {c.heads, given.states, {}, false},
                  choice);
    hidden = closed(t, c, std::move(a.out), hidden, w.cross_norm);
  }
  return feed_forward(t, c, w, hidden);
}

/// BartEncoder.forward: the last hidden state [b, s, h].
Tensor encode(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const AttentionChoice& choice,
              const RunStack& run) {
  const Tensor& ids = batch.ids;
  Tensor placed, tokens, hidden;
  {
    At here(t, "embeddings");
    tokens = embed_tokens(t, c, w, ids, batch.embeddings_want_grad);
    {
      const Tensor numbers = expand(t, arange(t, ids.size(1)), ids.shape());
      placed = embedding(t, w.source.position_embedding, shift(t, numbers, kUnusedPositions));
    }
    hidden = add(t, tokens, placed);
    hidden = apply_norm(t, c, w.source.embedding_norm, hidden);
    hidden = dropout(t, hidden, c.embedding_dropout);
  }
  LayerStack stack;
  stack.count = c.source.layers;
  stack.run = [&t, &c, &w, choice](std::int64_t i, const Tensor& x, const Arguments&) {
    At here(t, "encoder", static_cast<int>(i));
    return encoder_layer(t, c, w.source.layers[static_cast<std::size_t>(i)], x, choice);
  };
  hidden = run(t, stack, std::move(hidden));
  return hidden;
}

/// BartDecoder.forward: the last hidden state [b, t, h]. Its locals live until it returns.
Tensor decode(Tape& t, const ModelConfig& c, const Weights& w, const Tensor& ids, bool wants_grad, const Tensor& states,
              const AttentionChoice& choice, const RunStack& run) {
  const std::int64_t b = ids.size(0), n = ids.size(1);
  Tensor placed, positions, tokens, mask, hidden;
  {
    At here(t, "embeddings");
    tokens = embed_tokens(t, c, w, ids, wants_grad);
    positions = position_ids(t, n, 0);
  }
  mask = mask_of_ones(t, b, n, tokens.dtype(), choice.eager);
  {
    At here(t, "embeddings");
    placed = embedding(t, w.position_embedding, shift(t, positions, kUnusedPositions));
    hidden = add(t, tokens, placed);
    hidden = apply_norm(t, c, w.embedding_norm, hidden);
    hidden = dropout(t, hidden, c.embedding_dropout);
  }
  LayerStack stack;
  stack.count = c.layers;
  stack.mask_is_argument = true;
  stack.states = states;
  stack.arguments = [mask](std::int64_t) { return Arguments{mask, {}, {}, {}}; };
  stack.run = [&t, &c, &w, choice](std::int64_t i, const Tensor& x, const Arguments& given) {
    At here(t, "decoder", static_cast<int>(i));
    return decoder_layer(t, c, w.layers[static_cast<std::size_t>(i)], x, given, choice);
  };
  hidden = run(t, stack, std::move(hidden));
  return hidden;
}

}  // namespace

ModelOutput bart(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const AttentionChoice& choice,
                 const RunStack& run) {
  const Tensor ids = shifted_right(t, batch.labels, c.vocab);
  const Tensor states = encode(t, c, w, batch, choice, run);
  const Tensor hidden = decode(t, c, w, ids, batch.embeddings_want_grad, states, choice, run);
  InPhase phase(t.memory(), Phase::loss);
  Tensor logits;
  {
    At here(t, "lm_head");
    logits = linear(t, hidden, w.head, {});  // [b, t, v]
    logits = add(t, logits, w.logits_bias);
  }
  At here(t, "loss");
  const Tensor loss = cross_entropy(t, view(t, logits, {-1, logits.size(-1)}), view(t, batch.labels, {-1}));
  return {loss, logits, {states}};
}

}  // namespace vramplan
