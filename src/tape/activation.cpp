#include "tape/activation.h"

#include <cmath>
#include <numbers>

#include "tape/elementwise.h"

namespace vramplan {
namespace {

Tensor unary_backward(Tape& t, const Tensor& dy, const Tensor& saved, Binary op, const char* name) {
  Tensor dx = t.memory().empty_like(saved, saved.dtype(), name);
  t.backend().binary(op, dx, dy, saved);
  return dx;
}
Grads silu_backward(Tape& t, Node& n, Grads& dy) {
  return {unary_backward(t, dy[0], n.get(t, 0), Binary::silu_backward, "silu_backward")};
}
Grads gelu_backward(Tape& t, Node& n, Grads& dy) {
  return {unary_backward(t, dy[0], n.get(t, 0), Binary::gelu_backward, "gelu_backward")};
}
Grads gelu_tanh_backward(Tape& t, Node& n, Grads& dy) {
  return {unary_backward(t, dy[0], n.get(t, 0), Binary::gelu_tanh_backward, "gelu_backward")};
}
Grads relu_backward(Tape& t, Node& n, Grads& dy) {
  return {unary_backward(t, dy[0], n.get(t, 0), Binary::relu_backward, "threshold_backward")};
}

Tensor keeping_input(Tape& t, const Tensor& x, Unary op, BackwardFn backward, const char* node_name, const char* name) {
  auto node = t.record(node_name, backward, {&x});
  t.save(node, x);
  Tensor y = t.memory().empty_like(x, x.dtype(), name);
  t.backend().unary(op, y, x, 0);
  return t.output(node, y);
}

Grads dropout_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor mask = n.get(t, 0);
  Tensor dx = t.memory().empty_like(dy[0], dy[0].dtype(), "native_dropout_backward");
  t.backend().binary(Binary::mul, dx, dy[0], mask);
  t.backend().unary(Unary::scale, dx, dx, n.number);
  return {dx};
}

}  // namespace

Tensor silu(Tape& t, const Tensor& x) {
  return keeping_input(t, x, Unary::silu, silu_backward, "SiluBackward0", "silu");
}
Tensor gelu(Tape& t, const Tensor& x) {
  return keeping_input(t, x, Unary::gelu, gelu_backward, "GeluBackward0", "gelu");
}
Tensor gelu_tanh(Tape& t, const Tensor& x) {
  return keeping_input(t, x, Unary::gelu_tanh, gelu_tanh_backward, "GeluBackward0", "gelu");
}

Tensor relu(Tape& t, const Tensor& x) {
  auto node = t.record("ReluBackward0", relu_backward, {&x});
  Tensor y = t.memory().empty_like(x, x.dtype(), "relu");
  t.backend().unary(Unary::relu, y, x, 0);
  t.save_result(node, y);
  return t.output(node, y);
}

// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), evaluated left to right as Python does.
Tensor gelu_new(Tape& t, const Tensor& x) {
  const Tensor half = scale(t, x, 0.5);
  Tensor cubed = power(t, x, 3);
  Tensor inner = scale(t, cubed, 0.044715);
  cubed.reset();
  inner = add(t, x, inner);
  inner = scale(t, inner, std::sqrt(2.0 / std::numbers::pi));
  inner = tanh(t, inner);
  inner = shift(t, inner, 1);
  return mul(t, half, inner);
}

Tensor dropout(Tape& t, const Tensor& x, double p, DType mask_type) {
  if (p == 0 || !t.training) return x;
  auto node = t.record("NativeDropoutBackward0", dropout_backward, {&x});
  if (node) node->number = 1 / (1 - p);
  Tensor mask = t.memory().empty_like(x, mask_type, "native_dropout");  // first, as native/cuda/Dropout.cu does
  Tensor y = t.memory().empty_like(x, x.dtype(), "native_dropout");
  t.backend().dropout(y, mask, x, p, t.next_random());
  t.save_result(node, mask);
  return t.output(node, y);
}

}  // namespace vramplan
