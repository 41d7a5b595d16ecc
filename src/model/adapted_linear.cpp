#include "model/adapted_linear.h"

#include "model/dora.h"
#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/embedding.h"
#include "tape/linear.h"
#include "tape/view.h"

namespace vramplan {
namespace {

Tensor lora_output(Tape& t, const LinearWeights& w, const Tensor& x) {
  Tensor path = dropout(t, x, w.lora_dropout);
  path = linear(t, path, w.lora_a, {});
  path = linear(t, path, w.lora_b, {});
  return scale(t, path, w.lora_scale);
}

Tensor apply_stored(Tape& t, const LinearWeights& w, const Tensor& x) {
  Tensor result = quantised_linear(t, x, w.stored, w.bias);
  if (!w.lora_a) return result;
  if (w.stored.four_bits) result = clone(t, result);
  const DType type = result.dtype();
  const Tensor input = t.autocast() ? x : cast(t, x, w.lora_a.dtype());
  if (w.magnitude) {
    result = add_dora(t, w, input, result);
    return t.autocast() ? result : cast(t, result, type);
  }
  Tensor path = lora_output(t, w, input);
  if (!t.autocast()) path = cast(t, path, type);
  result = add(t, result, path);
  return result;
}

}  // namespace

Tensor apply_linear(Tape& t, const LinearWeights& w, const Tensor& x) {
  if (w.stored.codes) return apply_stored(t, w, x);
  if (w.fp8) return fp8_linear(t, x, w.weight, w.bias, *w.fp8);
  Tensor result = w.input_first ? conv1d(t, x, w.weight, w.bias) : linear(t, x, w.weight, w.bias);
  if (!w.lora_a) return result;
  const DType type = result.dtype();
  const Tensor input = cast(t, x, w.lora_a.dtype());
  result = w.magnitude ? add_dora(t, w, input, result) : add(t, result, lora_output(t, w, input));
  return cast(t, result, type);
}

Tensor adapt_embedding(Tape& t, const LinearWeights& adapter, const Tensor& ids, const Tensor& tokens,
                       const Tensor& factor) {
  if (!adapter.lora_a) return tokens;
  // Views of the adapter, as peft takes them: autocast caches casts of leaves only.
  const Tensor a = transpose(t, adapter.lora_a, 0, 1), b = transpose(t, adapter.lora_b, 0, 1);
  const Tensor inner = embedding(t, a, ids);  // [b, s, r]
  Tensor added = scale(t, linear(t, inner, transpose(t, b, 0, 1), {}), adapter.lora_scale);
  if (factor) added = mul(t, added, cast(t, factor, added.dtype()));
  const Tensor sum = add(t, tokens, added);
  return cast(t, sum, tokens.dtype());
}

}  // namespace vramplan
