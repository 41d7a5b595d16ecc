#include "model/positions.h"

#include <limits>

#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

/// find_packed_sequence_indices: only its temporaries matter, its answer is "not packed".
void packed_sequence_test(Tape& t, std::int64_t b, std::int64_t s) {
  Memory& m = t.memory();
  const Tensor first = m.empty({b, 1}, DType::int64, "sub");
  Tensor joined = m.empty({b, s + 1}, DType::int64, "cat");
  const Tensor steps = m.empty({b, s}, DType::int64, "sub");
  joined.reset();
  Tensor breaks = m.empty({b, s}, DType::boolean, "ne");
  const Tensor sequence = m.empty({b, s}, DType::int64, "cumsum");
  breaks.reset();
  const Tensor whole = m.empty({b}, DType::boolean, "eq");
  const Tensor all = m.empty({}, DType::boolean, "all");
}

Tensor shifted_positions(Tape& t, std::int64_t n, std::int64_t by) {
  const Tensor plain = arange(t, n);
  return shift(t, plain, static_cast<double>(by));
}

/// Which pairs of a query and a key are asked about: `before` keys come before those of the tokens.
struct Pairs {
  std::int64_t b, s, before;
  std::int64_t keys() const { return before + s; }
};

/// bool [1, 1, queries, keys]: key <= query, and with a window key > query - window.
Tensor allowed_pairs(Tape& t, const Pairs& p, std::optional<std::int64_t> window) {
  const Tensor batches = arange(t, p.b), heads = arange(t, 1);
  const Tensor q = view(t, shifted_positions(t, p.s, p.before), {1, 1, p.s, 1});
  const Tensor k = view(t, shifted_positions(t, p.keys(), 0), {1, 1, 1, p.keys()});
  if (!window) return compare(t, Binary::less_equal, k, q, "le");
  Tensor near;
  {
    const Tensor one = filled(t, {}, DType::boolean, 1, "new_ones");
    Tensor inside;
    {
      const Tensor edge = shift(t, q, -static_cast<double>(*window));
      inside = compare(t, Binary::greater, k, edge, "gt");
    }
    near = compare(t, Binary::logical_and, one, inside, "bitwise_and");
  }
  const Tensor causal = compare(t, Binary::less_equal, k, q, "le");
  return compare(t, Binary::logical_and, near, causal, "bitwise_and");
}

Tensor additive(Tape& t, const Tensor& allowed, const Pairs& p, DType dtype) {
  const Tensor zero = t.memory().empty({}, dtype, "zeros"), low = t.memory().empty({}, dtype, "scalar_tensor");
  Tensor mask = t.memory().empty({p.b, 1, p.s, p.keys()}, dtype, "where");
  const double lowest = dtype == DType::fp16 ? -65504.0 : -3.3895313892515355e38;
  t.backend().unary(Unary::mask_to_bias, mask, allowed, lowest);
  return mask;
}

Tensor one_mask(Tape& t, const Pairs& p, DType dtype, const AttentionChoice& choice,
                std::optional<std::int64_t> window) {
  if (p.before == 0) {
    packed_sequence_test(t, p.b, p.s);
    if (!choice.eager && (!window || p.s < *window)) return {};
  }
  const Tensor allowed = allowed_pairs(t, p, window);
  return choice.eager ? additive(t, allowed, p, dtype) : expand(t, allowed, {p.b, 1, p.s, p.keys()});
}

/// fast_all: whether all of a mask are set, by way of their sum. Only its temporaries matter: they are.
void ask_whether_all_are_set(Tape& t) {
  const Tensor sum = t.memory().empty({}, DType::int64, "sum");
  const Tensor answer = t.memory().empty({}, DType::boolean, "eq");
}

/// allowed_pairs without a window, and `kept` [b, s] says which keys are tokens: bool [b, 1, s, s].
Tensor allowed_pairs_of(Tape& t, const Pairs& p, const Tensor& kept) {
  Tensor k, q, heads, batches;  // locals of a Python function go in the other order
  batches = arange(t, p.b);
  heads = arange(t, 1);
  q = view(t, shifted_positions(t, p.s, 0), {1, 1, p.s, 1});
  k = view(t, shifted_positions(t, p.s, 0), {1, 1, 1, p.s});
  Tensor causal;
  {
    const Tensor one = filled(t, {}, DType::boolean, 1, "new_ones");
    const Tensor order = compare(t, Binary::less_equal, k, q, "le");
    causal = compare(t, Binary::logical_and, one, order, "bitwise_and");
  }
  const Tensor keys = t.memory().empty({p.b, 1, 1, p.s}, DType::boolean, "index");
  t.backend().unary(Unary::copy, keys, view(t, kept, {p.b, 1, 1, p.s}), 0);
  return compare(t, Binary::logical_and, causal, keys, "bitwise_and");
}

}  // namespace

Tensor mask_of_ones(Tape& t, std::int64_t b, std::int64_t s, DType dtype, bool eager) {
  At here(t, "mask");
  const Tensor ones = filled(t, {b, s}, DType::fp32, 1, "ones");
  const Tensor kept = cast(t, ones, DType::boolean);
  if (!eager) {
    ask_whether_all_are_set(t);
    return {};
  }
  const Pairs pairs{b, s, 0};
  return additive(t, allowed_pairs_of(t, pairs, kept), pairs, dtype);
}

Tensor position_ids(Tape& t, std::int64_t s, std::int64_t before) {
  return view(t, shifted_positions(t, s, before), {1, s});
}

Masks make_masks(Tape& t, const ModelConfig& c, std::int64_t b, std::int64_t s, std::int64_t before, DType dtype,
                 const AttentionChoice& choice) {
  At here(t, "mask");
  // Mistral makes one mask for all layers; others make the full one always and a second one if any layer slides.
  Masks m;
  const Pairs pairs{b, s, before};
  const bool mistral = c.architecture == Architecture::mistral;
  const bool some_full = !c.window || c.full_layers > 0 || !mistral;
  if (some_full) m.full = one_mask(t, pairs, dtype, choice, std::nullopt);
  if (c.window && c.full_layers < c.layers) m.sliding = one_mask(t, pairs, dtype, choice, c.window);
  return m;
}

Rotary rotary_tables(Tape& t, const RotaryBuffers& w, const Tensor& positions, DType dtype) {
  At here(t, "rotary_emb");
  Tensor column = cast(t, view(t, positions, {1, positions.size(-1), 1}), DType::fp32);
  const Tensor angles = mul(t, column, w.inverse_frequencies);
  column.reset();
  const Tensor both = cat(t, angles, angles, -1);
  Tensor cos = map(t, Unary::cos, both, "cos");
  cos = scale(t, cos, 1);
  Tensor sin = map(t, Unary::sin, both, "sin");
  sin = scale(t, sin, 1);
  const Tensor narrow_cos = cast(t, cos, dtype);
  return {narrow_cos, cast(t, sin, dtype)};
}

Tensor rotate(Tape& t, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor direct = mul(t, x, cos);
  Tensor half;
  {
    const std::int64_t d = x.size(-1);
    const Tensor x1 = slice(t, x, -1, 0, d / 2), x2 = slice(t, x, -1, d / 2, d);
    const Tensor negated = negate(t, x2);
    half = cat(t, negated, x1, -1);
  }
  half = mul(t, half, sin);
  return add(t, direct, half);
}

}  // namespace vramplan
