#include "model/dora.h"

#include "tape/activation.h"
#include "tape/elementwise.h"
#include "tape/linear.h"
#include "tape/view.h"

namespace vramplan {
namespace {

/// get_weight_norm: norms [out] of weight + scale * product, in the type of that sum.
Tensor norms_of_sum(Tape& t, const Tensor& weight, const Tensor& product, double factor) {
  const Tensor sum = add(t, weight, scale(t, product, factor));
  return cast(t, row_norms(t, sum), sum.dtype());
}

/// [out, in], in the layer's own type.
Tensor base_weight(Tape& t, const LinearWeights& w) {
  if (w.stored.codes) return dequantised(t, w.stored);
  return w.input_first ? transposed(t, w.weight, 0, 1) : w.weight;
}

/// deepcopy of a Linear4bit: FSDP asks for it. The quantised weight is an attribute twice, and copied as often.
std::vector<Tensor> copies_of(Tape& t, const LinearWeights& w) {
  const QuantisedWeight& q = w.stored;
  std::vector<Tensor> copies;
  if (!q.four_bits) return copies;
  for (const int time : {1, 2})
    for (const Tensor* x : {&q.codes, &q.scales, &q.map, &q.offset, &q.second_scales, &q.second_map, &w.bias})
      if (*x && (time == 1 || x != &w.bias)) copies.push_back(clone(t, *x));
  return copies;
}

/// DoraLinearLayer.forward. Without the layer's `result`, x is multiplied by the weight once more.
Tensor output(Tape& t, const LinearWeights& w, const Tensor& x, const Tensor& result) {
  Tensor product;  // B A, as the adapter's output for the unit matrix: its graph lives as long as it does
  {
    const Tensor unit = eye(t, w.lora_a.size(-1), w.lora_a.dtype());
    product = linear(t, linear(t, unit, w.lora_a, {}), w.lora_b, {});
    product = transpose(t, product, 0, 1);
  }
  product = cast(t, product, x.dtype());
  Tensor weight = base_weight(t, w);
  weight = cast(t, weight, x.dtype());
  const Tensor norms = norms_of_sum(t, weight, t.detached(product), w.lora_scale);
  const Tensor factor = view(t, divide(t, w.magnitude, norms), {1, -1});
  const Tensor adapted = linear(t, linear(t, x, w.lora_a, {}), w.lora_b, {});
  Tensor base = result;
  if (!result)
    base = linear(t, x, weight, {});
  else if (w.bias)
    base = subtract(t, base, w.bias);
  const Tensor frozen = mul(t, shift(t, factor, -1), base);
  const Tensor trained = scale(t, mul(t, factor, adapted), w.lora_scale);
  return add(t, frozen, trained);
}

}  // namespace

Tensor initial_magnitude(Tape& t, const LinearWeights& w) {
  Restore no_grad(t.grad_enabled, false);
  Restore category(t.memory().category, Category::temporary);
  const DType type = w.lora_a.dtype();
  const Tensor a = type == DType::fp16 ? cast(t, w.lora_a, DType::fp32) : w.lora_a,
               b = type == DType::fp16 ? cast(t, w.lora_b, DType::fp32) : w.lora_b;
  const std::vector<Tensor> copies = w.stored.codes ? copies_of(t, w) : std::vector<Tensor>();
  const Tensor weight = base_weight(t, w);
  Tensor product = mm(t, b, a);
  product = cast(t, product, type);
  Tensor norms = norms_of_sum(t, weight, product, w.lora_scale);
  t.memory().reclassify(norms, Category::parameter);
  norms->requires_grad = true;
  return norms;
}

Tensor add_dora(Tape& t, const LinearWeights& w, const Tensor& given, const Tensor& result) {
  const bool drops = w.lora_dropout > 0 && t.training;
  const Tensor x = drops ? dropout(t, given, w.lora_dropout) : given;  // lives until the sum is there
  return add(t, result, output(t, w, x, drops ? Tensor() : result));
}

}  // namespace vramplan
