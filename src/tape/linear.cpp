#include "tape/linear.h"

#include "tape/view.h"

namespace vramplan {
namespace {

Tensor product(Tape& t, const Tensor& a, const Tensor& b, const char* op) {
  Dims shape = a.shape();
  shape[shape.size() - 1] = b.size(-1);
  Tensor y = t.memory().empty(shape, a.dtype(), op);
  t.memory().ledger().product(Event::Kind::product);
  t.backend().matmul(y, a, b, 1, 0);
  return y;
}

bool column_major(const Tensor& x) { return x.strides().at(0) == 1 && x.strides().at(1) == x.size(0); }

/// mm_mat1_backward and mm_mat2_backward of FunctionsManual.cpp: the gradient takes the layout of its operand.
Tensor gradient_of_left(Tape& t, const Tensor& dy, const Tensor& b, bool columns) {
  return columns ? transposed(t, product(t, b, transposed(t, dy, 0, 1), "mm"), 0, 1)
                 : product(t, dy, transposed(t, b, 0, 1), "mm");
}
Tensor gradient_of_right(Tape& t, const Tensor& dy, const Tensor& a, bool columns) {
  return columns ? transposed(t, product(t, transposed(t, dy, 0, 1), a, "mm"), 0, 1)
                 : product(t, transposed(t, a, 0, 1), dy, "mm");
}

void save_operands(Tape& t, const Ref<Node>& node, const Tensor& a, const Tensor& b, std::size_t first) {
  if (!node) return;
  node->first = a.rank() == 2 && column_major(a);
  node->second = b.rank() == 2 && column_major(b);
  if (node->wants(first + 1))
    t.save(node, a);
  else
    node->keep_for_backward(Saved());
  if (node->wants(first))
    t.save(node, b);
  else
    node->keep_for_backward(Saved());
}

// Saved tensors are unpacked first and held to the end, as the generated code of PyTorch does: a recomputed one is
// otherwise gone too early.

Grads mm_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor a = n.get(t, 0), b = n.get(t, 1);
  Grads out{Tensor(), Tensor()};
  if (n.wants(1)) out[1] = gradient_of_right(t, dy[0], a, n.second != 0);
  if (n.wants(0)) out[0] = gradient_of_left(t, dy[0], b, n.first != 0);
  return out;
}

Grads addmm_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor a = n.get(t, 0), b = n.get(t, 1);
  Grads out{Tensor(), Tensor(), Tensor()};
  if (n.wants(1)) out[1] = gradient_of_left(t, dy[0], b, n.first != 0);
  if (n.wants(2)) out[2] = gradient_of_right(t, dy[0], a, n.second != 0);
  if (n.wants(0)) out[0] = dy[0];
  return out;
}

Grads bmm_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor a = n.get(t, 0), b = n.get(t, 1);
  Grads out{Tensor(), Tensor()};
  if (n.wants(1)) out[1] = product(t, transposed(t, a, 1, 2), dy[0], "bmm");
  if (n.wants(0)) out[0] = product(t, dy[0], transposed(t, b, 1, 2), "bmm");
  return out;
}

Tensor batch_joined(Tape& t, const Tensor& x) {
  const Tensor wide = expand(t, x, x.shape());
  return reshape(t, wide, {x.size(0) * x.size(1), x.size(2), x.size(3)});
}

}  // namespace

Tensor mm(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("MmBackward0", mm_backward, {&a, &b});
  save_operands(t, node, a, b, 0);
  return t.output(node, product(t, a, b, "mm"));
}

Tensor addmm(Tape& t, const Tensor& bias0, const Tensor& a0, const Tensor& b0) {
  const Tensor b = t.lower_precision(b0), a = t.lower_precision(a0), bias = t.lower_precision(bias0);
  auto node = t.record("AddmmBackward0", addmm_backward, {&bias, &a, &b});
  save_operands(t, node, a, b, 1);
  Tensor y = t.memory().empty({a.size(0), b.size(1)}, a.dtype(), "addmm");
  const Tensor rows =
      t.view_of(bias, y.shape(), expanded_strides(bias.shape(), bias.strides(), y.shape()), bias->offset, bias.dtype());
  t.backend().unary(Unary::copy, y, rows, 0);
  t.memory().ledger().product(Event::Kind::biased_product);
  t.backend().matmul(y, a, b, 1, 1);
  return t.output(node, y);
}

Tensor bmm(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("BmmBackward0", bmm_backward, {&a, &b});
  save_operands(t, node, a, b, 0);
  return t.output(node, product(t, a, b, "bmm"));
}

Tensor matmul(Tape& t, const Tensor& a0, const Tensor& b0) {
  const Tensor b = t.lower_precision(b0), a = t.lower_precision(a0);
  const Tensor left = batch_joined(t, a), right = batch_joined(t, b);
  const Tensor y = bmm(t, left, right);
  return unsafe_view(t, y, {a.size(0), a.size(1), a.size(2), b.size(3)});
}

Tensor linear(Tape& t, const Tensor& x0, const Tensor& weight0, const Tensor& bias0) {
  const Tensor bias = t.lower_precision(bias0), weight = t.lower_precision(weight0), x = t.lower_precision(x0);
  const Dims shape = with_last(x.shape(), weight.size(0));
  if (!bias) {
    const Tensor w = transpose(t, weight, 0, 1);
    const Tensor rows = reshape(t, x, {-1, x.size(-1)});
    const Tensor y = mm(t, rows, w);
    return unsafe_view(t, y, shape);
  }
  const Tensor rows = reshape(t, x, {-1, x.size(-1)});
  const Tensor w = transpose(t, weight, 0, 1);
  const Tensor y = addmm(t, bias, rows, w);
  return view(t, y, shape);
}

Tensor conv1d(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor rows = view(t, x, {-1, x.size(-1)});
  const Tensor y = addmm(t, bias, rows, weight);
  return view(t, y, with_last(x.shape(), weight.size(1)));
}

}  // namespace vramplan
