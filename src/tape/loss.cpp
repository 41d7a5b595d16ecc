#include "tape/loss.h"

#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

Grads softmax_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor y = n.get(t, 0);
  Tensor dx = t.memory().empty_like(dy[0], n.dtype, "_softmax_backward_data");
  const Tensor product = t.memory().empty_like(dy[0], dy[0].dtype(), "_softmax_backward_data");
  t.backend().softmax_backward(dx, dy[0], y, false);
  return {dx};
}

Grads log_softmax_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor y = n.get(t, 0);
  Tensor dx = t.memory().empty_like(dy[0], n.dtype, "_log_softmax_backward_data");
  t.backend().softmax_backward(dx, dy[0], y, true);
  return {dx};
}

Grads nll_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor log_probs = n.get(t, 0), target = n.get(t, 1), total = n.get(t, 2);
  Tensor dx = t.memory().empty(log_probs.shape(), log_probs.dtype(), "nll_loss_backward");
  t.backend().nll_backward(dx, dy[0], target, total);
  return {dx};
}

Tensor softmax_kernel(Tape& t, const Tensor& x, DType dtype, bool log) {
  auto node = log ? t.record("LogSoftmaxBackward0", log_softmax_backward, {&x})
                  : t.record("SoftmaxBackward0", softmax_backward, {&x});
  if (node) node->dtype = x.dtype();
  Tensor y = t.memory().empty(x.shape(), dtype, log ? "_log_softmax" : "_softmax");
  t.backend().softmax(y, x, log);
  t.save_result(node, y);
  return t.output(node, y);
}

Tensor softmax_as(Tape& t, const Tensor& x, DType dtype, bool log) {
  if (x.dtype() == DType::fp16 && dtype == DType::fp32) return softmax_kernel(t, x, dtype, log);
  const Tensor wide = cast(t, x, dtype);
  return softmax_kernel(t, wide, dtype, log);
}

Tensor nll_loss(Tape& t, const Tensor& log_probs, const Tensor& target) {
  auto node = t.record("NllLossBackward0", nll_backward, {&log_probs});
  t.save(node, log_probs);
  t.save(node, target);
  Tensor loss = t.memory().empty({}, log_probs.dtype(), "nll_loss_forward");
  Tensor total = t.memory().empty({}, log_probs.dtype(), "nll_loss_forward");
  t.backend().nll(loss, total, log_probs, target);
  t.save_result(node, total);
  return t.output(node, loss);
}

/// The last tokens of x [b, s, l], a view; no sequence here is padded.
Tensor last_tokens(Tape& t, const Tensor& x) {
  const std::int64_t last = x->offset + (x.size(1) - 1) * x.strides()[1];
  return t.view_of(x, {x.size(0), x.size(2)}, {x.strides()[0], x.strides()[2]}, last, x.dtype());
}

Grads pick_back(Tape& t, Node& n, Grads& dy) {
  Tensor dx = filled(t, n.dims, dy[0].dtype(), 0, "new_zeros");
  t.backend().unary(Unary::copy, last_tokens(t, dx), dy[0], 0);
  return {dx};
}

/// `padded` lives as long as the caller wants.
Tensor shifted_labels(Tape& t, const Tensor& labels, Tensor& padded) {
  const std::int64_t rows = labels.size(0), s = labels.size(1);
  padded = filled(t, {rows, s + 1}, DType::int64, -100, "constant_pad_nd");
  t.backend().unary(Unary::copy, slice(t, padded, 1, 0, s), labels, 0);
  return contiguous(t, slice(t, padded, 1, 1, s + 1));
}

}  // namespace

LastTokens last_of_each(Tape& t, const Tensor& logits) {
  const std::int64_t b = logits.size(0), s = logits.size(1);
  LastTokens out;
  // Numbers of 4 bytes, int32 there.
  Tensor not_padding = filled(t, {b, s}, DType::boolean, 1, "ne");
  out.mask = filled(t, {b, s}, DType::fp32, 1, "_to_copy");
  not_padding.reset();
  out.positions = filled(t, {s}, DType::fp32, 0, "arange");
  Tensor product = filled(t, {b, s}, DType::fp32, 0, "mul");
  const Tensor last = filled(t, {b}, DType::int64, static_cast<double>(s - 1), "argmax");
  product.reset();
  const Tensor rows = arange(t, b);
  auto node = t.record("IndexBackward0", pick_back, {&logits});
  if (node) node->dims = logits.shape();
  t.save(node, rows);
  t.save(node, last);
  out.logits = t.memory().empty({b, logits.size(2)}, logits.dtype(), "index");
  t.backend().unary(Unary::copy, out.logits, last_tokens(t, logits), 0);
  out.logits = t.output(node, out.logits);
  return out;
}

Tensor shifted_labels(Tape& t, const Tensor& labels) {
  Tensor padded;
  return shifted_labels(t, labels, padded);
}

Tensor softmax(Tape& t, const Tensor& x, DType dtype) { return softmax_as(t, x, dtype, false); }
Tensor softmax(Tape& t, const Tensor& x) { return softmax_as(t, x, t.autocast() ? DType::fp32 : x.dtype(), false); }

Tensor log_softmax(Tape& t, const Tensor& x) { return softmax_as(t, x, t.autocast() ? DType::fp32 : x.dtype(), true); }

Tensor cross_entropy(Tape& t, const Tensor& logits, const Tensor& target) {
  const Tensor log_probs = softmax_as(t, logits, logits.dtype(), true);
  return nll_loss(t, t.full_precision(log_probs), target);
}

Tensor causal_lm_loss(Tape& t, const Tensor& logits, const Tensor& labels) {
  const Tensor wide = cast(t, logits, DType::fp32);
  Tensor padded;
  const Tensor shifted = shifted_labels(t, labels, padded);
  const Tensor flat = view(t, wide, {-1, logits.size(-1)});
  return cross_entropy(t, flat, view(t, shifted, {-1}));
}

}  // namespace vramplan
