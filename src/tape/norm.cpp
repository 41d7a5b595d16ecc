#include "tape/norm.h"

#include "tape/elementwise.h"

namespace vramplan {
namespace {

Dims one_a_row(const Tensor& x) {
  Dims d = x.shape();
  d[d.size() - 1] = 1;
  return d;
}

Grads layer_norm_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0), mean = n.get(t, 1), rstd = n.get(t, 2), weight = n.get(t, 3);
  Memory& m = t.memory();
  Tensor dx = m.empty(x.shape(), x.dtype(), "native_layer_norm_backward");
  Tensor dw = m.empty(weight.shape(), weight.dtype(), "native_layer_norm_backward");
  Tensor db = m.empty(weight.shape(), weight.dtype(), "native_layer_norm_backward");
  t.backend().layer_norm_backward(dx, dw, db, dy[0], x, mean, rstd, weight);
  return {dx, dw, db};
}

Grads rms_norm_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0), rstd = n.get(t, 1), weight = n.get(t, 2);
  Tensor dx = t.memory().empty(x.shape(), x.dtype(), "_fused_rms_norm_backward");
  Tensor dw = t.memory().empty(weight.shape(), weight.dtype(), "_fused_rms_norm_backward");
  t.backend().rms_norm_backward(dx, dw, dy[0], x, rstd, weight);
  return {dx, dw};
}

}  // namespace

Tensor layer_norm(Tape& t, const Tensor& x0, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor x = t.full_precision(x0);
  auto node = t.record("NativeLayerNormBackward0", layer_norm_backward, {&x, &weight, &bias});
  t.save(node, x);
  Tensor y = t.memory().empty(x.shape(), x.dtype(), "native_layer_norm");
  Tensor mean = t.memory().empty(one_a_row(x), DType::fp32, "native_layer_norm");
  Tensor rstd = t.memory().empty(one_a_row(x), DType::fp32, "native_layer_norm");
  t.backend().layer_norm(y, mean, rstd, x, weight, bias, eps);
  t.save_result(node, mean);
  t.save_result(node, rstd);
  t.save(node, weight);
  return t.output(node, y);
}

namespace {

/// x in fp32 over the root of its mean square. `variance` lives as long as the caller's Python function.
Tensor normed_wide(Tape& t, const Tensor& x, double eps, Tensor& variance) {
  Tensor hidden = cast(t, x, DType::fp32);
  Tensor squared = power(t, hidden, 2);
  variance = mean_last(t, squared);
  squared.reset();
  Tensor shifted = shift(t, variance, eps);
  Tensor rstd = rsqrt(t, shifted);
  shifted.reset();
  hidden = mul(t, hidden, rstd);
  rstd.reset();
  return hidden;
}

}  // namespace

Tensor rms_norm_python(Tape& t, const Tensor& x, const Tensor& weight, double eps) {
  Tensor variance;
  const Tensor hidden = normed_wide(t, x, eps, variance);
  const Tensor normed = cast(t, hidden, x.dtype());
  return mul(t, weight, normed);
}

Tensor rms_norm_olmo(Tape& t, const Tensor& x, const Tensor& weight, double eps) {
  Tensor variance;
  const Tensor hidden = normed_wide(t, x, eps, variance);
  const Tensor wide = mul(t, weight, hidden);
  return cast(t, wide, x.dtype());
}

Tensor rms_norm_gemma(Tape& t, const Tensor& x, const Tensor& weight, double eps) {
  Tensor output;
  {
    const Tensor wide = cast(t, x, DType::fp32);
    Tensor squared = power(t, wide, 2);
    Tensor variance = mean_last(t, squared);
    squared.reset();
    Tensor shifted = shift(t, variance, eps);
    variance.reset();
    const Tensor rstd = rsqrt(t, shifted);
    shifted.reset();
    output = mul(t, wide, rstd);
  }
  {
    Tensor wide = cast(t, weight, DType::fp32);
    const Tensor factor = shift(t, wide, 1);
    wide.reset();
    output = mul(t, output, factor);
  }
  return cast(t, output, x.dtype());
}

Tensor rms_norm_fused(Tape& t, const Tensor& x0, const Tensor& weight, double eps) {
  const Tensor x = t.full_precision(x0);
  auto node = t.record("FusedRmsNormBackward0", rms_norm_backward, {&x, &weight});
  t.save(node, x);
  Tensor y = t.memory().empty(x.shape(), x.dtype(), "_fused_rms_norm");
  Tensor rstd = t.memory().empty(one_a_row(x), DType::fp32, "_fused_rms_norm");
  t.backend().rms_norm(y, rstd, x, weight, eps);
  t.save_result(node, rstd);
  t.save(node, weight);
  return t.output(node, y);
}

}  // namespace vramplan
