#include "tape/label_losses.h"

#include "tape/elementwise.h"

namespace vramplan {
namespace {

/// The mean of x as a scalar at the start of `y`.
void mean_into(Tape& t, const Tensor& y, const Tensor& x) {
  Dims ones;
  for (std::size_t i = 0; i < x.shape().size(); ++i) ones.push_back(1);
  t.backend().sum(t.view_of(y, ones, contiguous_strides(ones), 0, y.dtype()), x, 1.0 / static_cast<double>(x.numel()));
}

/// dx becomes `factor` times the gradient of the loss in every place.
void times(Tape& t, const Tensor& dx, const Tensor& dy, double factor) {
  t.backend().binary(Binary::mul, dx, dx, dy);
  t.backend().unary(Unary::scale, dx, dx, factor);
}

/// native/BinaryOps.cpp, mse_loss_backward.
Grads mse_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0), target = n.get(t, 1);
  Tensor dx = t.memory().empty(x.shape(), x.dtype(), "mse_loss_backward");
  t.backend().binary(Binary::sub, dx, x, target);
  times(t, dx, dy[0], 2.0 / static_cast<double>(x.numel()));
  return {dx};
}

/// native/Loss.cpp, binary_cross_entropy_with_logits_backward: sigmoid(x) - target.
Grads binary_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0), target = n.get(t, 1);
  Tensor dx = t.memory().empty(x.shape(), x.dtype(), "sigmoid");
  t.backend().unary(Unary::sigmoid, dx, x, 0);
  t.backend().binary(Binary::sub, dx, dx, target);
  times(t, dx, dy[0], 1.0 / static_cast<double>(x.numel()));
  return {dx};
}

}  // namespace

Tensor mse_loss(Tape& t, const Tensor& x0, const Tensor& target0) {
  const Tensor x = t.full_precision(x0), target = t.full_precision(target0);
  auto node = t.record("MseLossBackward0", mse_backward, {&x});
  t.save(node, x);
  t.save(node, target);
  // The result is made as large as the operands and then shrunk; the kernel takes as much again for what it adds up,
  // which is here in the result's place (native/BinaryOps.cpp; native/Loss.cpp, mse_loss_out).
  const Tensor squares = t.memory().empty(x.shape(), x.dtype(), "mse_loss");
  const Scratch apart(t.memory(), storage_bytes(x.dtype(), x.numel()), "mse_loss");
  t.backend().binary(Binary::sub, squares, x, target);
  t.backend().binary(Binary::mul, squares, squares, squares);
  const Tensor loss = t.view_of(squares, {}, {}, 0, x.dtype());
  mean_into(t, loss, squares);
  return t.output(node, t.detached(loss));
}

Tensor binary_cross_entropy_with_logits(Tape& t, const Tensor& x0, const Tensor& target0) {
  const Tensor x = t.full_precision(x0), target = t.full_precision(target0);
  auto node = t.record("BinaryCrossEntropyWithLogitsBackward0", binary_backward, {&x});
  t.save(node, x);
  t.save(node, target);
  const Tensor log_share = map(t, Unary::log_sigmoid, t.detached(x), "log_sigmoid_forward");
  const Tensor each = t.memory().empty(x.shape(), x.dtype(), "binary_cross_entropy_with_logits");
  t.backend().unary(Unary::scale, each, target, -1);
  t.backend().unary(Unary::add, each, each, 1);
  t.backend().binary(Binary::mul, each, each, x);
  t.backend().binary(Binary::sub, each, each, log_share);
  Tensor loss = t.memory().empty({}, x.dtype(), "mean");
  mean_into(t, loss, each);
  return t.output(node, loss);
}

}  // namespace vramplan
