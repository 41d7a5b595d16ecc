// GPT2Block of transformers/models/gpt2/modeling_gpt2.py.
#include <cmath>

#include "model/adapted_linear.h"
#include "model/forward.h"
#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

EagerAttention attend_gpt2(Tape& t, const ModelConfig& c, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& mask, const AttentionChoice& choice) {
  const double factor = 1 / std::sqrt(static_cast<double>(c.head_dim));
  EagerArgs eager = choice.kept;
  eager.scale = factor;
  eager.dropout = c.attention_dropout;
  if (choice.eager) return eager_attention_gpt2(t, q, k, v, mask, eager);
  SdpaArgs args{factor, t.training ? c.attention_dropout : 0, !mask, false, choice.kernel};
  Tensor out = sdpa(t, q, k, v, mask, args);
  return {contiguous(t, transpose(t, out, 1, 2)), {}};
}

EagerAttention attention(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Tensor& mask,
                         const AttentionChoice& choice) {
  At here(t, "attn");
  auto heads = [&](const Tensor& part) {
    return transpose(t, view(t, part, {x.size(0), x.size(1), c.heads, c.head_dim}), 1, 2);
  };
  const auto parts = split3(t, apply_linear(t, w.qkv, x));  // [b, s, 3h]
  Tensor k = heads(parts[1]), v = heads(parts[2]);
  const Tensor q = heads(parts[0]);
  update_cache(t, choice, k, v);
  const Attend core = [&t, &c, mask, choice](const Tensor& queries, const Tensor& keys, const Tensor& values) {
    return attend_gpt2(t, c, queries, keys, values, mask, choice);
  };
  EagerAttention a = run_attention(t, choice, core, q, k, v);
  a.out = contiguous(t, reshape(t, a.out, {x.size(0), x.size(1), c.hidden}));
  a.out = apply_linear(t, w.out, a.out);
  a.out = dropout(t, a.out, c.residual_dropout);
  return a;
}

Tensor mlp_gpt2(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x,
                const RecomputedParts& recomputed) {
  At here(t, "mlp");
  Tensor hidden = apply_linear(t, w.up, x);  // [b, s, f]
  hidden = run_part(
      t, recomputed.activation, [&t, &c](const Tensor& h, const Arguments&) { return apply_activation(t, c.mlp, h); },
      hidden);
  hidden = apply_linear(t, w.down, hidden);
  return dropout(t, hidden, c.residual_dropout);
}

}  // namespace

Tensor gpt2_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Tensor& mask,
                  const AttentionChoice& choice) {
  Tensor residual = x;
  const RecomputedParts parts = choice.recomputed;  // by value: a segment outlives this call
  auto norm = [&](const NormWeights& weights, const Tensor& h) {
    return run_part(
        t, parts.norms, [&t, &c, &weights](const Tensor& y, const Arguments&) { return apply_norm(t, c, weights, y); },
        h);
  };
  Tensor hidden = norm(w.norm1, x);
  const EagerAttention attended =
      attention(t, c, w, hidden, mask, choice);  // its probabilities live until the layer returns
  hidden = add(t, attended.out, residual);
  residual = hidden;
  hidden = norm(w.norm2, hidden);
  const Tensor fed = run_part(
      t, parts.mlp, [&t, &c, &w, parts](const Tensor& h, const Arguments&) { return mlp_gpt2(t, c, w, h, parts); },
      hidden);
  hidden = add(t, residual, fed);
  return hidden;
}

}  // namespace vramplan
