// LlamaDecoderLayer of transformers/models/llama/modeling_llama.py; those after it share it.
#include <cmath>

#include "model/adapted_linear.h"
#include "model/forward.h"
#include "model/positions.h"
#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

EagerAttention attend_llama(Tape& t, const ModelConfig& c, const Tensor& q, const Tensor& k0, const Tensor& v0,
                            const Tensor& mask, const AttentionChoice& choice) {
  const double factor = c.multipliers ? c.multipliers->attention : 1 / std::sqrt(static_cast<double>(c.head_dim));
  EagerArgs eager = choice.kept;
  eager.scale = factor;
  eager.dropout = c.attention_dropout;
  if (choice.eager) return eager_attention_llama(t, q, k0, v0, mask, eager);
  // sdpa_attention.py: grouped heads are passed on only without a mask and up to 256 wide.
  const std::int64_t times = c.heads / c.kv_heads;
  const bool grouped = times > 1 && !mask && c.head_dim <= 256;
  const Tensor k = grouped ? k0 : repeat_kv(t, k0, times), v = grouped ? v0 : repeat_kv(t, v0, times);
  Tensor out = sdpa(t, q, k, v, mask, {factor, t.training ? c.attention_dropout : 0, !mask, grouped, choice.kernel});
  return {contiguous(t, transpose(t, out, 1, 2)), {}};
}

struct Heads {
  Tensor q, k, v;  ///< [b, a, s, d], [b, k, s, d]
};

Tensor into_heads(Tape& t, const ModelConfig& c, const Tensor& x) {
  return view(t, x, {x.size(0), x.size(1), -1, c.head_dim});
}

/// Each head normalised alone where there are norms for it.
Heads heads_of(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x) {
  const bool norms_first = c.architecture == Architecture::qwen3;  // before heads and tokens change places
  auto project = [&](const LinearWeights& p, const NormWeights& norm) {
    Tensor heads = into_heads(t, c, apply_linear(t, p, x));
    if (norm.weight && norms_first) heads = apply_norm(t, c, norm, heads);
    return transpose(t, heads, 1, 2);
  };
  Heads h;
  h.q = project(w.q, w.q_norm);
  h.k = project(w.k, w.k_norm);
  h.v = project(w.v, {});
  if (w.q_norm.weight && !norms_first) {
    h.q = apply_norm(t, c, w.q_norm, h.q);
    h.k = apply_norm(t, c, w.k_norm, h.k);
  }
  return h;
}

/// All heads normalised at once.
Heads normed_heads(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x) {
  Heads h;
  h.q = apply_norm(t, c, w.q_norm, apply_linear(t, w.q, x));
  h.k = apply_norm(t, c, w.k_norm, apply_linear(t, w.k, x));
  h.v = apply_linear(t, w.v, x);
  for (Tensor* heads : {&h.q, &h.k, &h.v}) *heads = transpose(t, into_heads(t, c, *heads), 1, 2);
  return h;
}

EagerAttention attention(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Arguments& given,
                         const AttentionChoice& choice) {
  At here(t, "self_attn");
  Heads heads = c.head_norms == HeadNorms::whole ? normed_heads(t, c, w, x) : heads_of(t, c, w, x);
  Tensor &q = heads.q, &k = heads.k, &v = heads.v;
  if (given.cos) {
    const Tensor wide_cos = unsqueeze(t, given.cos, 1), wide_sin = unsqueeze(t, given.sin, 1);
    const Tensor rotated = rotate(t, q, wide_cos, wide_sin);
    const Tensor rotated_k = rotate(t, k, wide_cos, wide_sin);
    q = wide_angles(c) ? cast(t, rotated, q.dtype()) : rotated;
    k = wide_angles(c) ? cast(t, rotated_k, k.dtype()) : rotated_k;
  }
  update_cache(t, choice, k, v);
  const Attend core = [&t, &c, mask = given.mask, choice](const Tensor& queries, const Tensor& keys,
                                                          const Tensor& values) {
    return attend_llama(t, c, queries, keys, values, mask, choice);
  };
  EagerAttention a = run_attention(t, choice, core, q, k, v);
  a.out = contiguous(t, reshape(t, a.out, {x.size(0), x.size(1), -1}));
  a.out = apply_linear(t, w.out, a.out);
  if (c.residual_dropout > 0) a.out = dropout(t, a.out, c.residual_dropout);
  return a;
}

/// The activated gate times up, recomputed as a whole where that is asked for: both branches are made first then.
Tensor gated(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, bool recomputed) {
  Tensor gate = apply_linear(t, w.gate, x);  // [b, s, f]
  if (!recomputed) {
    gate = apply_activation(t, c.mlp, gate);
    const Tensor up = apply_linear(t, w.up, x);
    return mul(t, gate, up);
  }
  const Tensor up = apply_linear(t, w.up, x);
  if (t.grad_enabled && up->storage->category == Category::temporary) t.memory().reclassify(up, Category::boundary);
  return run_part(
      t, true, [&t, &c, up](const Tensor& g, const Arguments&) { return mul(t, apply_activation(t, c.mlp, g), up); },
      gate);
}

Tensor mlp_llama(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x,
                 const RecomputedParts& recomputed) {
  At here(t, "mlp");
  Tensor hidden;
  if (w.gate) {
    hidden = gated(t, c, w, x, recomputed.activation);
  } else {
    hidden = apply_linear(t, w.up, x);
    hidden = run_part(
        t, recomputed.activation, [&t, &c](const Tensor& h, const Arguments&) { return apply_activation(t, c.mlp, h); },
        hidden);
  }
  hidden = apply_linear(t, w.down, hidden);
  return c.residual_dropout > 0 ? dropout(t, hidden, c.residual_dropout) : hidden;
}

}  // namespace

Tensor llama_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Arguments& given,
                   const AttentionChoice& choice) {
  Tensor residual = x;
  const RecomputedParts parts = choice.recomputed;  // by value: a segment outlives this call
  auto norm = [&](const NormWeights& weights, const Tensor& h) {
    return run_part(
        t, parts.norms, [&t, &c, &weights](const Tensor& y, const Arguments&) { return apply_norm(t, c, weights, y); },
        h);
  };
  Tensor hidden = c.pre_norms ? norm(w.norm1, x) : x;
  EagerAttention attended =
      attention(t, c, w, hidden, given, choice);  // its probabilities live until the layer returns
  hidden = std::move(attended.out);
  if (c.post_norms) hidden = norm(w.post_attention, hidden);
  hidden = add(t, residual, c.multipliers ? scale(t, hidden, c.multipliers->residual) : hidden);
  residual = hidden;
  if (c.pre_norms) hidden = norm(w.norm2, hidden);
  hidden = run_part(
      t, parts.mlp, [&t, &c, &w, parts](const Tensor& h, const Arguments&) { return mlp_llama(t, c, w, h, parts); },
      hidden);
  if (c.post_norms) hidden = norm(w.post_mlp, hidden);
  hidden = add(t, residual, c.multipliers ? scale(t, hidden, c.multipliers->residual) : hidden);
  return hidden;
}

}  // namespace vramplan
