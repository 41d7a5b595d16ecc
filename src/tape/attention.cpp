#include "tape/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/kernel_scratch.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/view.h"

namespace vramplan {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [b, h, s, d] laid out as [b, s, h, d]: what the fused kernels return.
Tensor heads_inside(Tape& t, std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d, DType dtype,
                    const char* op) {
  return t.memory().empty_strided({b, h, s, d}, {s * h * d, d, h * d, 1}, dtype, op);
}

/// What one of the fused kernels takes for itself in backward, taken once the gradients are there.
struct BackwardCall {
  Tape& t;
  const Tensor &q, &k, &v, &bias, &out, &lse, &dout, &dq, &dk, &dv;
  const AttentionArgs& args;

  std::int64_t heads() const { return q.size(0) * q.size(1); }
  Bytes rows_of(std::int64_t width, std::int64_t rows) const {
    return Bytes(4) * static_cast<std::uint64_t>(heads()) * static_cast<std::uint64_t>(rows) *
           static_cast<std::uint64_t>(width);
  }
  /// dK or dV of all query heads, where those share key heads; else nothing.
  Bytes expanded() const {
    return k.size(1) < q.size(1) ? storage_bytes(k.dtype(), heads() * k.size(2) * k.size(3)) : Bytes();
  }
  void run() const { t.backend().attention_backward(dq, dk, dv, dout, q, k, v, bias, out, lse, args); }
};

/// flash_api.cpp, mha_bwd: the softmax's sums and dQ in fp32, rows in blocks of 128; dK and dV at all heads.
void flash_backward(const BackwardCall& c) {
  Memory& m = c.t.memory();
  const std::int64_t rows = (c.q.size(2) + 127) / 128 * 128;
  const Bytes expanded = c.expanded();
  const Scratch sums(m, c.rows_of(1, rows), "flash softmax sums"),
      accumulator(m, c.rows_of(flash_head_dim(c.q.size(3)), rows), "flash dq accumulator"),
      keys(m, expanded, "flash dk of all heads"), values(m, expanded, "flash dv of all heads");
  c.run();
}

/// cudnn_frontend, scaled_dot_product_flash_attention: dQ and the softmax's sums in fp32 are the graph's workspace.
void cudnn_backward(const BackwardCall& c) {
  const Scratch workspace(c.t.memory(), c.rows_of(c.q.size(3) + 1, c.q.size(2)), "cudnn attention workspace");
  c.run();
}

/// attention_backward.cu, _efficient_attention_backward: rows of out * dout, by the kernel itself where it can
/// (kKernelComputesDelta), else in fp32 by way of the product.
void efficient_backward(const BackwardCall& c) {
  Memory& m = c.t.memory();
  const bool half = c.q.dtype() != DType::fp32;
  const std::int64_t head_dim = c.q.size(3);
  const Bytes delta = c.rows_of(1, c.q.size(2)), product = c.rows_of(head_dim, c.q.size(2));
  const BackwardTile tile = efficient_backward_tile(c.t.device, head_dim, half, c.args.dropout > 0);
  const Bytes workspace = efficient_backward_workspace(tile, c.heads(), c.q.size(2), c.k.size(2), head_dim);
  const Scratch keys(m, c.expanded(), "efficient dk of all heads"),
      values(m, c.expanded(), "efficient dv of all heads");
  if (tile.computes_delta) {
    const Scratch rows(m, delta, "efficient delta"), tiles(m, workspace, "efficient workspace");
    return c.run();
  }
  std::optional<Scratch> wide_dout, wide_out, products, sums;
  if (half)
    wide_dout.emplace(m, product, "efficient dout in fp32"), wide_out.emplace(m, product, "efficient out in fp32");
  products.emplace(m, product, "efficient product");
  sums.emplace(m, delta, "efficient delta");
  const Scratch rows(m, c.q.size(1) > 1 ? delta : Bytes(), "efficient delta");
  if (c.q.size(1) > 1) sums.reset();
  products.reset();
  wide_out.reset();
  wide_dout.reset();
  const Scratch tiles(m, workspace, "efficient workspace");
  c.run();
}

using FusedBackward = void (*)(const BackwardCall&);
template <FusedBackward kernel>
Grads fused_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor q = n.get(t, 0), k = n.get(t, 1), v = n.get(t, 2), bias = n.get(t, 3), out = n.get(t, 4),
               lse = n.get(t, 5);
  const char* op = n.name;
  Tensor dq = heads_inside(t, q.size(0), q.size(1), q.size(2), q.size(3), q.dtype(), op);
  Tensor dk = heads_inside(t, k.size(0), k.size(1), k.size(2), k.size(3), k.dtype(), op);
  Tensor dv = heads_inside(t, v.size(0), v.size(1), v.size(2), v.size(3), v.dtype(), op);
  kernel({t, q, k, v, bias, out, lse, dy[0], dq, dk, dv, n.rare->attention});
  return {dq, dk, dv};
}

Grads pass_on(Tape&, Node&, Grads& dy) { return {dy[0]}; }

struct FusedForm {
  const char* forward;
  const char* backward;
  BackwardFn run_backward;
  bool pads_lse;            ///< to a multiple of 32
  bool scalars_on_host;     ///< with dropout, the random state is kept on the host
  std::int64_t seed_bytes;  ///< of the random state
  bool seed_first;          ///< it is made before the result
};
constexpr FusedForm kFlash{"_scaled_dot_product_flash_attention",
                           "_scaled_dot_product_flash_attention_backward",
                           fused_backward<flash_backward>,
                           false,
                           false,
                           2,
                           false};
constexpr FusedForm kCudnn{"_scaled_dot_product_cudnn_attention",
                           "_scaled_dot_product_cudnn_attention_backward",
                           fused_backward<cudnn_backward>,
                           false,
                           false,
                           1,
                           true};
constexpr FusedForm kEfficient{"_scaled_dot_product_efficient_attention",
                               "_scaled_dot_product_efficient_attention_backward",
                               fused_backward<efficient_backward>,
                               true,
                               true,
                               1,
                               true};

/// What the forward kernels take: flash attention's partial results when it cuts the keys, and efficient attention's
/// fp32 result of wide 16-bit heads (kNeedsOutputAccumulatorBuffer).
struct ForwardScratch {
  Bytes sums, results, random_state;
};
ForwardScratch forward_scratch(const Tape& t, const Tensor& q, const Tensor& k, const SdpaArgs& args,
                               const FusedForm& form) {
  const auto heads = q.size(0) * q.size(1), s = q.size(2), d = q.size(3);
  auto fp32 = [&](std::int64_t n) { return storage_bytes(DType::fp32, n); };
  if (form.backward == kEfficient.backward)
    return {{}, q.dtype() != DType::fp32 && d > 128 ? fp32(heads * s * d) : Bytes(), {}};
  if (form.backward != kFlash.backward) return {};
  if (args.dropout > 0) return {{}, {}, storage_bytes(DType::int64, 2)};
  const int parts = flash_splits(t.device, heads, s, k.size(2), d);
  if (parts == 1) return {};
  return {fp32(parts * heads * s), fp32(parts * heads * s * flash_head_dim(d)), {}};
}

Tensor fused(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, const SdpaArgs& args,
             const FusedForm& form) {
  auto node = t.record(form.backward, form.run_backward, {&q, &k, &v});
  const std::int64_t b = q.size(0), a = q.size(1), s = q.size(2);
  t.save(node, q);
  t.save(node, k);
  t.save(node, v);
  if (node && bias)
    t.save(node, bias);
  else if (node)
    node->keep_for_backward(Saved());
  Tensor seed, offset;
  auto make_seed = [&] {
    if (form.scalars_on_host && args.dropout > 0) return;
    seed = t.memory().empty(form.seed_bytes == 2 ? Dims{2} : Dims{}, DType::int64, form.forward);
    offset = t.memory().empty({}, DType::int64, form.forward);
  };
  if (form.seed_first) make_seed();
  Tensor out = heads_inside(t, b, a, s, v.size(3), q.dtype(), form.forward);
  // Flash always makes a log-sum-exp, the others only for a gradient.
  const std::int64_t wanted = node || form.backward == kFlash.backward ? s : 0;
  const std::int64_t rows = form.pads_lse ? (wanted + 31) / 32 * 32 : wanted;
  Tensor lse = t.memory().empty({b, a, rows}, DType::fp32, form.forward);
  const ForwardScratch scratch = forward_scratch(t, q, k, args, form);
  const Scratch sums(t.memory(), scratch.sums, "flash partial sums"),
      results(t.memory(), scratch.results, "attention partial results");
  if (!form.seed_first) make_seed();
  const Scratch random(t.memory(), scratch.random_state, "flash random state");
  const AttentionArgs kernel{args.scale, args.dropout, args.causal, args.dropout > 0 ? t.next_random() : RandomKey{}};
  t.backend().attention(out, rows ? lse : Tensor(), q, k, v, bias, kernel);
  if (node) {
    node->more().attention = kernel;
    t.save_result(node, out);
    t.save_result(node, lse);
    if (seed) t.save_result(node, seed), t.save_result(node, offset);
  }
  return t.output(node, out);
}

Grads pad_backward(Tape& t, Node& n, Grads& dy) {
  Dims shape = dy[0].shape();
  shape[shape.size() - 1] = n.first;
  const Tensor inner = t.view_of(dy[0], shape, dy[0].strides(), dy[0]->offset, dy[0].dtype());
  Tensor dx = t.memory().empty_like(inner, inner.dtype(), "clone");
  t.backend().unary(Unary::copy, dx, inner, 0);
  return {dx};
}

/// The last dimension filled up with zeros to a multiple; x itself when it is one.
Tensor pad_last(Tape& t, const Tensor& x, std::int64_t multiple) {
  const std::int64_t d = x.size(-1), rest = d % multiple;
  if (rest == 0) return x;
  auto node = t.record("ConstantPadNdBackward0", pad_backward, {&x});
  if (node) node->first = d;
  Dims shape = x.shape();
  shape[shape.size() - 1] = d + multiple - rest;
  Tensor y = filled(t, shape, x.dtype(), 0, "constant_pad_nd");
  t.backend().unary(Unary::copy, t.view_of(y, x.shape(), y.strides(), 0, y.dtype()), x, 0);
  return t.output(node, y);
}

/// convert_boolean_attn_mask: 0 where true, -infinity where false; a new tensor with every row of the batch.
Tensor float_mask(Tape& t, const Tensor& mask, DType dtype) {
  const Tensor zero = t.memory().empty({}, dtype, "scalar_tensor"), low = t.memory().empty({}, dtype, "scalar_tensor");
  Tensor bias = t.memory().empty(mask.shape(), dtype, "where");
  t.backend().unary(Unary::mask_to_bias, bias, mask, kMinusInfinity);
  return bias;
}

/// 0 on and below the diagonal, -infinity above, fp32 [s, s] (attention.cpp, the math path of a causal call).
Tensor causal_bias(Tape& t, std::int64_t s, DType dtype) {
  Tensor allowed;
  {
    const Tensor ones = filled(t, {s, s}, DType::boolean, 1, "ones");
    allowed = t.memory().empty({s, s}, DType::boolean, "tril");
    t.backend().tril(allowed);
  }
  const Tensor zero = t.memory().empty({}, dtype, "scalar_tensor"), low = t.memory().empty({}, dtype, "scalar_tensor");
  Tensor bias = t.memory().empty({s, s}, dtype, "where");
  t.backend().unary(Unary::mask_to_bias, bias, allowed, kMinusInfinity);
  return bias;
}

/// torch.repeat_interleave over heads: always a copy.
Tensor repeat_interleave(Tape& t, const Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  const std::int64_t b = x.size(0), k = x.size(1), s = x.size(2), d = x.size(3);
  const Tensor wide = expand(t, unsqueeze(t, x, 2), {b, k, times, s, d});
  return view(t, clone(t, wide), {b, k * times, s, d});
}

Tensor math(Tape& t, const Tensor& q0, const Tensor& k0, const Tensor& v0, Tensor mask, const SdpaArgs& args) {
  const DType given = q0.dtype();
  const bool half = given == DType::fp16 || given == DType::bf16;
  const DType dtype = half ? DType::fp32 : given;
  const Tensor q32 = cast(t, q0, dtype), k32 = cast(t, k0, dtype), v32 = cast(t, v0, dtype);
  const double root = std::sqrt(args.scale);
  const Tensor q = scale(t, q32, root);
  if (args.causal) mask = causal_bias(t, q.size(2), dtype);
  const std::int64_t times = q.size(1) / k32.size(1);
  const Tensor k = repeat_interleave(t, k32, times), v = repeat_interleave(t, v32, times);
  Tensor scores;
  {
    const Tensor columns = scale(t, transpose(t, k, 2, 3), root);
    scores = matmul(t, q, columns);
  }
  if (mask) scores = add_in_place(t, scores, mask);
  Tensor probs = softmax(t, scores);
  {  // _safe_softmax: rows that see nothing become zero
    const Tensor low = t.memory().empty(scores.shape(), DType::boolean, "isneginf");
    const Tensor rows = t.memory().empty({scores.size(0), scores.size(1), scores.size(2), 1}, DType::boolean, "all");
    const Tensor zero = t.memory().empty({}, dtype, "scalar_tensor");
  }
  scores.reset();
  probs = dropout(t, probs, args.dropout);
  const Tensor returned = cast(t, probs, given);  // the second result, made first and dropped by the caller
  const Tensor wide = matmul(t, probs, v);
  return cast(t, wide, given);
}

Tensor scores_of(Tape& t, const Tensor& q, const Tensor& k, const Tensor& mask, double factor) {
  Tensor scores = matmul(t, q, transpose(t, k, 2, 3));
  scores = scale(t, scores, factor);
  if (mask) scores = add(t, scores, mask);
  return scores;
}

}  // namespace

Tensor repeat_kv(Tape& t, const Tensor& x, std::int64_t times) {
  if (times == 1) return x;
  const std::int64_t b = x.size(0), k = x.size(1), s = x.size(2), d = x.size(3);
  const Tensor wide = expand(t, unsqueeze(t, x, 2), {b, k, times, s, d});
  return reshape(t, wide, {b, k * times, s, d});
}

Tensor sdpa(Tape& t, const Tensor& q0, const Tensor& k0, const Tensor& v0, const Tensor& mask0, const SdpaArgs& args) {
  const Tensor v = t.lower_precision(v0), k = t.lower_precision(k0), q = t.lower_precision(q0);
  const Outside inside(t);  // autocast has cast the arguments: what the call does inside is not cast again
  Tensor mask = mask0;
  const bool wants_grad = t.grad_enabled && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  const SdpaChoice choice = choose_sdpa(t.device, {q, k, v, mask, args, wants_grad});
  if (std::find(t.sdpa_choices.begin(), t.sdpa_choices.end(), choice) == t.sdpa_choices.end())
    t.sdpa_choices.push_back(choice);
  const SdpaKernel kernel = choice.kernel;
  if (mask && mask.dtype() == DType::boolean) mask = float_mask(t, mask, q.dtype());
  if (kernel == SdpaKernel::cudnn) return fused(t, q, k, v, mask, args, kCudnn);
  if (kernel == SdpaKernel::flash) {
    const Tensor wide_q = pad_last(t, q, 8), wide_k = pad_last(t, k, 8), wide_v = pad_last(t, v, 8);
    const Tensor out = fused(t, wide_q, wide_k, wide_v, mask, args, kFlash);
    return out.size(-1) == q.size(-1) ? out : slice(t, out, -1, 0, q.size(-1));
  }
  if (kernel == SdpaKernel::math) return math(t, q, k, v, mask, args);
  if (mask) {  // preprocess_mask: rows aligned, then shared by all heads
    const std::int64_t last = mask.size(-1), multiple = t.device.mask_alignment;
    if (last % multiple) mask = slice(t, pad_last(t, mask, multiple), -1, 0, last);
    mask = expand(t, mask, {q.size(0), q.size(1), q.size(2), k.size(2)});
  }
  return fused(t, q, k, v, mask, args, kEfficient);
}

Tensor drop_probabilities(Tape& t, const Tensor& probabilities, const EagerArgs& args) {
  Tensor kept = dropout(t, probabilities, args.dropout, args.mask);
  if (args.extra_copies == 0) return kept;
  auto node = t.record("ExtraCopies", pass_on, {&kept});
  for (std::int64_t i = 0; i < args.extra_copies; ++i) {
    Tensor copy = t.memory().empty_like(kept, kept.dtype(), "score_copy");
    t.backend().unary(Unary::copy, copy, kept, 0);
    t.save_result(node, copy);
  }
  return t.output(node, t.detached(kept));
}

EagerAttention eager_attention_llama(Tape& t, const Tensor& q, const Tensor& k0, const Tensor& v0, const Tensor& mask,
                                     const EagerArgs& args) {
  const std::int64_t times = q.size(1) / k0.size(1);
  const Tensor k = repeat_kv(t, k0, times), v = repeat_kv(t, v0, times);
  Tensor weights = scores_of(t, q, k, mask, args.scale);
  Tensor wide = softmax(t, weights, DType::fp32);
  Tensor narrow = cast(t, wide, q.dtype());
  wide.reset();
  weights = std::move(narrow);  // one statement in Python: the scores live until here
  weights = drop_probabilities(t, weights, args);
  const Tensor out = matmul(t, weights, v);
  return {contiguous(t, transpose(t, out, 1, 2)), weights};
}

EagerAttention eager_attention_gpt2(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    const EagerArgs& args) {
  Tensor weights = scores_of(t, q, k, mask, args.scale);
  weights = softmax(t, weights);
  weights = cast(t, weights, v.dtype());
  weights = drop_probabilities(t, weights, args);
  const Tensor out = matmul(t, weights, v);
  return {transpose(t, out, 1, 2), weights};
}

EagerAttention eager_attention_bert(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    const EagerArgs& args) {
  Tensor weights = scores_of(t, q, k, mask, args.scale);
  weights = softmax(t, weights);
  weights = drop_probabilities(t, weights, args);
  const Tensor out = matmul(t, weights, v);
  return {contiguous(t, transpose(t, out, 1, 2)), weights};
}

}  // namespace vramplan
