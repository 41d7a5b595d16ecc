// LabelSmoother of transformers/trainer_pt_utils.py, statement by statement.
#include "tape/elementwise.h"
#include "tape/loss.h"
#include "tape/view.h"

namespace vramplan {
namespace {

Grads gather_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0), index = n.get(t, 1);
  const Tensor dx = filled(t, x.shape(), x.dtype(), 0, "new_zeros");
  t.backend().scatter(dx, dy[0], index);
  return {dx};
}

/// y[..., 0] = x[..., index[..., 0]]; keeps x and index.
Tensor gather_last(Tape& t, const Tensor& x, const Tensor& index) {
  auto node = t.record("GatherBackward0", gather_backward, {&x});
  t.save(node, x);
  t.save(node, index);
  const Tensor y = t.memory().empty(index.shape(), x.dtype(), "gather");
  t.backend().gather(y, x, index);
  return t.output(node, y);
}

/// The gradient seen at the shape of the input: no memory.
Grads sum_backward(Tape& t, Node& n, Grads& dy) {
  return {
      t.view_of(dy[0], n.dims, expanded_strides(dy[0].shape(), dy[0].strides(), n.dims), dy[0]->offset, dy[0].dtype())};
}

/// Over the last dimension, kept as 1, in fp32.
Tensor sum_last(Tape& t, const Tensor& x) {
  auto node = t.record("SumBackward1", sum_backward, {&x});
  Dims shape = x.shape();
  shape[shape.size() - 1] = 1;
  if (node) node->dims = x.shape();
  const Tensor y = t.memory().empty(shape, DType::fp32, "sum");
  t.backend().sum(y, x, 1);
  return t.output(node, y);
}

Tensor sum_all(Tape& t, const Tensor& x) {
  auto node = t.record("SumBackward0", sum_backward, {&x});
  if (node) node->dims = x.shape();
  const Tensor y = t.memory().empty({}, x.dtype(), "sum");
  const Dims one{1, 1, 1};
  t.backend().sum(t.view_of(y, one, {1, 1, 1}, 0, y.dtype()), x, 1);
  return t.output(node, y);
}

Grads masked_fill_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor mask = n.get(t, 0);
  const Tensor dx = t.memory().empty(dy[0].shape(), dy[0].dtype(), "clone");
  t.backend().unary(Unary::copy, dx, dy[0], 0);
  return {dx};
}

/// In place; no label of ours is masked. Keeps the mask.
Tensor masked_fill(Tape& t, const Tensor& x, const Tensor& mask) {
  auto node = t.record("MaskedFillBackward0", masked_fill_backward, {&x});
  t.save(node, mask);
  return t.output(node, t.detached(x));
}

Grads divide_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor by = n.get(t, 0);
  const Tensor dx = t.memory().empty({}, dy[0].dtype(), "div");
  t.backend().unary(Unary::scale, dx, dy[0], n.number);
  return {dx};
}

/// x / by, an integer on the device whose value is known here to be 1 / `share`. Keeps it.
Tensor divide(Tape& t, const Tensor& x, const Tensor& by, double share) {
  auto node = t.record("DivBackward0", divide_backward, {&x});
  t.save(node, by);
  if (node) node->number = share;
  const Tensor y = t.memory().empty({}, x.dtype(), "div");
  t.backend().unary(Unary::scale, y, x, share);
  return t.output(node, y);
}

/// padding_mask.numel() - padding_mask.long().sum()
Tensor count_active(Tape& t, const Tensor& mask) {
  Tensor masked;
  {
    const Tensor wide = t.memory().empty(mask.shape(), DType::int64, "_to_copy");
    masked = t.memory().empty({}, DType::int64, "sum");
  }
  return t.memory().empty({}, DType::int64, "sub");
}

Tensor integer(Tape& t, const Dims& shape, const char* op) { return t.memory().empty(shape, DType::int64, op); }

}  // namespace

Tensor smoothed_loss(Tape& t, const Tensor& logits0, const Tensor& labels0) {
  constexpr double kEpsilon = 0.1;
  const std::int64_t s = labels0.size(1), v = logits0.size(-1);
  const Tensor logits = contiguous(t, slice(t, logits0, 1, 0, s - 1));
  Tensor labels = contiguous(t, slice(t, labels0, 1, 1, s));
  const Tensor log_probs = negate(t, log_softmax(t, logits));
  const Dims column{labels.size(0), labels.size(1), 1};
  const Tensor mask = t.memory().empty(column, DType::boolean, "eq");
  const Tensor index = integer(t, column, "clamp");
  t.backend().unary(Unary::copy, index, t.view_of(labels, column, {s - 1, 1, 1}, labels->offset, DType::int64), 0);
  labels.reset();
  Tensor nll = gather_last(t, log_probs, index), smooth = sum_last(t, log_probs);
  nll = masked_fill(t, nll, mask);
  smooth = masked_fill(t, smooth, mask);
  const double tokens = static_cast<double>(index.numel());
  const Tensor active = count_active(t, mask);
  {
    const Tensor sum = sum_all(t, nll);
    nll = divide(t, sum, active, 1 / tokens);
  }
  {
    const Tensor sum = sum_all(t, smooth), all = integer(t, {}, "mul");
    smooth = divide(t, sum, all, 1 / (tokens * static_cast<double>(v)));
  }
  const Tensor first = scale(t, nll, 1 - kEpsilon), second = scale(t, smooth, kEpsilon);
  return add(t, first, second);
}

}  // namespace vramplan
