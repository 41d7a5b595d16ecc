#include "tape/elementwise.h"

#include "tape/kernel_scratch.h"
#include "tape/view.h"

namespace vramplan {
namespace {

Tensor empty_for(Tape& t, const Tensor& a, const Tensor& b, DType dtype, const char* op) {
  const Dims shape = broadcast(a.shape(), b.shape());
  const Operand operands[] = {{&a.shape(), &a.strides()}, {&b.shape(), &b.strides()}};
  return t.memory().empty_strided(shape, elementwise_strides(shape, operands, 2), dtype, op);
}

/// A new tensor of the promoted type, without history.
Tensor combined(Tape& t, Binary op, const Tensor& a, const Tensor& b, const char* name) {
  Tensor y = empty_for(t, a, b, promote(a.dtype(), b.dtype()), name);
  t.backend().binary(op, y, a, b);
  return y;
}

Tensor product(Tape& t, const Tensor& a, const Tensor& b) { return combined(t, Binary::mul, a, b, "mul"); }

Grads pass_to_both(Tape&, Node&, Grads& dy) { return {dy[0], dy[0]}; }
Grads pass(Tape&, Node&, Grads& dy) { return {dy[0]}; }

Grads mul_backward(Tape& t, Node& n, Grads& dy) {
  Grads out{Tensor(), Tensor()};
  const Tensor a = n.get(t, 0), b = n.get(t, 1);
  if (n.wants(1)) out[1] = product(t, dy[0], a);
  if (n.wants(0)) out[0] = product(t, dy[0], b);
  return out;
}
Grads subtract_backward(Tape& t, Node& n, Grads& dy) { return {dy[0], n.wants(1) ? negate(t, dy[0]) : Tensor()}; }
Grads divide_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor b = n.get(t, 0);
  return {combined(t, Binary::div, dy[0], b, "div")};
}
Grads scale_backward(Tape& t, Node& n, Grads& dy) { return {scale(t, dy[0], n.number)}; }
Grads neg_backward(Tape& t, Node&, Grads& dy) { return {negate(t, dy[0])}; }

// functions: pow_backward. The two temporaries live until the statement ends.
Grads pow_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0);
  Tensor power_less_one = t.memory().empty_like(x, x.dtype(), "pow");
  t.backend().unary(Unary::pow, power_less_one, x, n.number - 1);
  const Tensor slope = scale(t, power_less_one, n.number);
  return {product(t, dy[0], slope)};
}

// rsqrt: -0.5 * grad * result^3
Grads rsqrt_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor y = n.get(t, 0);
  Tensor cubed = t.memory().empty_like(y, y.dtype(), "pow");
  t.backend().unary(Unary::pow, cubed, y, 3);
  const Tensor half = scale(t, dy[0], -0.5);
  return {product(t, half, cubed)};
}

Grads tanh_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor y = n.get(t, 0);
  Tensor dx = empty_for(t, dy[0], y, y.dtype(), "tanh_backward");
  t.backend().binary(Binary::tanh_backward, dx, dy[0], y);
  return {dx};
}

Grads repeat_backward(Tape& t, Node& n, Grads& dy) { return {n.first == 1 ? dy[0] : sum_to(t, dy[0], n.dims)}; }
Grads cast_backward(Tape& t, Node& n, Grads& dy) { return {cast(t, dy[0], n.dtype)}; }

/// mean_backward: the gradient is expanded (no memory) and divided (a full tensor).
Grads mean_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor wide =
      t.view_of(dy[0], n.dims, expanded_strides(dy[0].shape(), dy[0].strides(), n.dims), dy[0]->offset, dy[0].dtype());
  Tensor dx = t.memory().empty(n.dims, wide.dtype(), "div");
  t.backend().unary(Unary::scale, dx, wide, n.number);
  return {dx};
}

Tensor pointwise(Tape& t, Unary op, const Tensor& x, double a, const char* name) {
  Tensor y = t.memory().empty_like(x, x.dtype(), name);
  t.backend().unary(op, y, x, a);
  return y;
}

}  // namespace

Tensor filled(Tape& t, const Dims& shape, DType dtype, double value, const char* op) {
  Tensor y = t.memory().empty(shape, dtype, op);
  t.backend().fill(y, value);
  return y;
}

Tensor arange(Tape& t, std::int64_t n) {
  Tensor y = t.memory().empty({n}, DType::int64, "arange");
  t.backend().arange(y, 0);
  return y;
}

void count_in_rows(Tape& t, const Tensor& x, double start) {
  const Tensor row = t.view_of(x, {x.size(1)}, {1}, x->offset, x.dtype());
  t.backend().arange(row, start);
  t.backend().unary(Unary::copy, x, row, 0);
}

Tensor eye(Tape& t, std::int64_t n, DType dtype) {
  Tensor y = filled(t, {n, n}, dtype, 0, "eye");
  t.backend().fill(t.view_of(y, {n}, {n + 1}, 0, dtype), 1);
  return y;
}

Tensor add(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("AddBackward0", pass_to_both, {&a, &b});
  return t.output(node, combined(t, Binary::add, a, b, "add"));
}

Tensor add_in_place(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("AddBackward0", pass_to_both, {&a, &b});
  t.backend().accumulate(a, b, 1);
  return t.output(node, t.detached(a));
}

Tensor mul(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("MulBackward0", mul_backward, {&a, &b});
  if (node) {
    if (node->wants(1))
      t.save(node, a);
    else
      node->keep_for_backward(Saved());
    if (node->wants(0))
      t.save(node, b);
    else
      node->keep_for_backward(Saved());
  }
  return t.output(node, product(t, a, b));
}

Tensor subtract(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("SubBackward0", subtract_backward, {&a, &b});
  return t.output(node, combined(t, Binary::sub, a, b, "sub"));
}

Tensor divide(Tape& t, const Tensor& a, const Tensor& b) {
  auto node = t.record("DivBackward0", divide_backward, {&a});
  t.save(node, b);
  return t.output(node, combined(t, Binary::div, a, b, "div"));
}

Tensor compare(Tape& t, Binary op, const Tensor& a, const Tensor& b, const char* name) {
  Tensor y = empty_for(t, a, b, DType::boolean, name);
  t.backend().binary(op, y, a, b);
  return y;
}

Tensor scale(Tape& t, const Tensor& x, double a, const char* op) {
  auto node = t.record("MulBackward0", scale_backward, {&x});
  if (node) node->number = a;
  return t.output(node, pointwise(t, Unary::scale, x, a, op));
}

Tensor shift(Tape& t, const Tensor& x, double a) {
  auto node = t.record("AddBackward0", pass, {&x});
  return t.output(node, pointwise(t, Unary::add, x, a, "add"));
}

Tensor negate(Tape& t, const Tensor& x) {
  auto node = t.record("NegBackward0", neg_backward, {&x});
  return t.output(node, pointwise(t, Unary::neg, x, 0, "neg"));
}

Tensor power(Tape& t, const Tensor& given, double e) {
  const Tensor x = t.full_precision(given);
  auto node = t.record("PowBackward0", pow_backward, {&x});
  if (node) node->number = e;
  t.save(node, x);
  return t.output(node, pointwise(t, Unary::pow, x, e, "pow"));
}

Tensor rsqrt(Tape& t, const Tensor& given) {
  const Tensor x = t.full_precision(given);
  auto node = t.record("RsqrtBackward0", rsqrt_backward, {&x});
  Tensor y = pointwise(t, Unary::rsqrt, x, 0, "rsqrt");
  t.save_result(node, y);
  return t.output(node, y);
}

Tensor tanh(Tape& t, const Tensor& x) {
  auto node = t.record("TanhBackward0", tanh_backward, {&x});
  Tensor y = pointwise(t, Unary::tanh, x, 0, "tanh");
  t.save_result(node, y);
  return t.output(node, y);
}

Tensor map(Tape& t, Unary op, const Tensor& x, const char* name) { return pointwise(t, op, x, 0, name); }

Tensor cast(Tape& t, const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  auto node = t.record("ToCopyBackward0", cast_backward, {&x});
  if (node) node->dtype = x.dtype();
  Tensor y = t.memory().empty_like(x, dtype, "_to_copy");
  t.backend().unary(Unary::copy, y, x, 0);
  return t.output(node, y);
}

Tensor clone(Tape& t, const Tensor& x) {
  auto node = t.record("CloneBackward0", pass, {&x});
  Tensor y = t.memory().empty(x.shape(), x.dtype(), "clone");
  t.backend().unary(Unary::copy, y, x, 0);
  return t.output(node, y);
}

Tensor repeat(Tape& t, const Tensor& x, std::int64_t times) {
  auto node = t.record("RepeatBackward0", repeat_backward, {&x});
  if (node) node->first = times, node->dims = x.shape();
  Dims shape = x.shape();
  shape[0] = times;
  Tensor y = t.memory().empty(shape, x.dtype(), "repeat");
  t.backend().unary(Unary::copy, y, x, 0);
  return t.output(node, y);
}

Tensor mean_last(Tape& t, const Tensor& x) {
  auto node = t.record("MeanBackward1", mean_backward, {&x});
  Dims shape = x.shape();
  shape[shape.size() - 1] = 1;
  const double share = 1.0 / static_cast<double>(x.size(-1));
  if (node) node->dims = x.shape(), node->number = share;
  Tensor y = t.memory().empty(shape, x.dtype(), "mean");
  t.backend().sum(y, x, share);
  return t.output(node, y);
}

Tensor mean_all(Tape& t, const Tensor& x) {
  auto node = t.record("MeanBackward0", mean_backward, {&x});
  const double share = 1.0 / static_cast<double>(x.numel());
  if (node) node->dims = x.shape(), node->number = share;
  Tensor y = t.memory().empty({}, x.dtype(), "mean");
  Dims ones;
  ones.resize(x.shape().size());
  for (auto& d : ones) d = 1;
  t.backend().sum(t.view_of(y, ones, contiguous_strides(ones), 0, y.dtype()), x, share);
  return t.output(node, y);
}

Tensor row_norms(Tape& t, const Tensor& x) {
  Dims shape = x.shape();
  shape.resize(shape.size() - 1);
  Tensor y = t.memory().empty(shape, t.autocast() ? DType::fp32 : x.dtype(), "linalg_vector_norm");
  t.backend().row_norms(y, x);
  return y;
}

Tensor sum_to(Tape& t, const Tensor& x, const Dims& shape) {
  Dims kept = x.shape();
  const std::size_t lead = kept.size() - shape.size();
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i < lead ? 1 : shape[i - lead];
  Tensor y = t.memory().empty(kept, x.dtype(), "sum");
  const ReduceScratch s = y.size(-1) == x.size(-1)
                              ? column_sum_scratch(t.device, x.numel() / y.numel(), y.numel(), item_size(x.dtype()))
                              : ReduceScratch{};
  const Scratch accumulator(t.memory(), s.accumulator, "sum accumulator"), partial(t.memory(), s.partial, "sum parts"),
      semaphores(t.memory(), s.semaphores, "sum semaphores");
  t.backend().sum(y, x, 1);
  return lead ? view(t, y, shape) : y;
}

}  // namespace vramplan
