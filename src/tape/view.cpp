#include "tape/view.h"

#include <stdexcept>

#include "tape/elementwise.h"

namespace vramplan {
namespace {

std::size_t index(const Tensor& x, int dim) { return static_cast<std::size_t>(dim < 0 ? dim + x.rank() : dim); }

Dims strides_as(const Tensor& x, const Dims& shape) {
  auto s = view_strides(x.shape(), x.strides(), shape);
  if (!s) throw std::logic_error("a view of " + to_string(x.shape()) + " as " + to_string(shape) + " needs a copy");
  return *s;
}

Tensor narrowed(Tape& t, const Tensor& x, std::size_t dim, std::int64_t start, std::int64_t length) {
  Dims shape = x.shape();
  shape[dim] = length;
  return t.view_of(x, shape, x.strides(), x->offset + start * x.strides()[dim], x.dtype());
}

Grads reshape_back(Tape& t, Node& n, Grads& dy) { return {reshape(t, dy[0], n.dims)}; }
Grads transpose_back(Tape& t, Node& n, Grads& dy) {
  return {transposed(t, dy[0], static_cast<int>(n.first), static_cast<int>(n.second))};
}
Grads expand_back(Tape& t, Node& n, Grads& dy) { return {n.dims == dy[0].shape() ? dy[0] : sum_to(t, dy[0], n.dims)}; }

Grads slice_back(Tape& t, Node& n, Grads& dy) {
  const auto dim = static_cast<std::size_t>(n.first);
  Tensor dx = filled(t, n.dims, dy[0].dtype(), 0, "zeros");
  t.backend().unary(Unary::copy, narrowed(t, dx, dim, n.second, dy[0].shape()[dim]), dy[0], 0);
  return {dx};
}

Grads split_back(Tape& t, Node& n, Grads& dy) {
  Tensor dx = t.memory().empty(n.dims, n.dtype, "cat");
  const std::int64_t part = n.dims.at(-1) / 3;
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor place = narrowed(t, dx, n.dims.size() - 1, static_cast<std::int64_t>(i) * part, part);
    if (dy[i])
      t.backend().unary(Unary::copy, place, dy[i], 0);
    else
      t.backend().fill(place, 0);
  }
  return {dx};
}

Grads whole(Tape& t, Node&, Grads& dy) {
  return {t.view_of(dy[0], dy[0].shape(), dy[0].strides(), dy[0]->offset, dy[0].dtype())};
}

Grads cat_back(Tape& t, Node& n, Grads& dy) {
  const auto dim = static_cast<std::size_t>(n.second);
  return {narrowed(t, dy[0], dim, 0, n.first), narrowed(t, dy[0], dim, n.first, dy[0].shape()[dim] - n.first)};
}

Grads unsqueeze_back(Tape& t, Node& n, Grads& dy) {
  Dims strides;
  for (std::size_t i = 0; i < dy[0].shape().size(); ++i)
    if (i != static_cast<std::size_t>(n.first)) strides.push_back(dy[0].strides()[i]);
  return {t.view_of(dy[0], n.dims, strides, dy[0]->offset, dy[0].dtype())};
}

/// One output's gradient goes to the node of the split, which runs when all are there.
Grads keep_part(Tape&, Node& n, Grads& dy) {
  Node& whole = *n.next[0].node;
  whole.rare->parts[static_cast<std::size_t>(n.first)] = dy[0];
  return {Tensor()};
}

Ref<Node> part_of(const Ref<Node>& whole, std::size_t i) {
  Ref<Node> part = make_ref<Node>();
  part->name = "SplitWithSizesBackward0";
  part->backward = keep_part;
  part->place = whole->place;
  part->sequence = whole->sequence;
  part->first = static_cast<std::int64_t>(i);
  part->next.push_back({whole, 0});
  return part;
}

Grads join_parts(Tape& t, Node& n, Grads&) {
  std::vector<Tensor> parts = std::move(n.rare->parts);
  const auto dim = static_cast<std::size_t>(n.first);
  Tensor dx = t.memory().empty(n.dims, n.dtype, "cat");
  std::int64_t from = 0;
  for (const Tensor& p : parts) {
    t.backend().unary(Unary::copy, narrowed(t, dx, dim, from, p.size(static_cast<int>(n.first))), p, 0);
    from += p.size(static_cast<int>(n.first));
  }
  return {dx};
}

}  // namespace

Tensor view(Tape& t, const Tensor& x, const Dims& wanted) {
  const Dims shape = resolved(x.shape(), wanted);
  auto node = t.record("ViewBackward0", reshape_back, {&x});
  if (node) node->dims = x.shape();
  return t.output(node, t.view_of(x, shape, strides_as(x, shape), x->offset, x.dtype()));
}

Tensor unsafe_view(Tape& t, const Tensor& x, const Dims& wanted) {
  const Dims shape = resolved(x.shape(), wanted);
  auto node = t.record("UnsafeViewBackward0", reshape_back, {&x});
  if (node) node->dims = x.shape();
  return t.output(node, Tensor(make_ref<TensorImpl>(x->storage, shape, strides_as(x, shape), x->offset, x.dtype())));
}

Tensor reshape(Tape& t, const Tensor& x, const Dims& wanted) {
  const Dims shape = resolved(x.shape(), wanted);
  if (view_strides(x.shape(), x.strides(), shape)) return view(t, x, shape);
  const Tensor copy = clone(t, x);
  return unsafe_view(t, copy, shape);
}

Tensor contiguous(Tape& t, const Tensor& x) { return x.contiguous() ? x : clone(t, x); }

Tensor transposed(Tape& t, const Tensor& x, int a, int b) {
  Dims shape = x.shape(), strides = x.strides();
  std::swap(shape[index(x, a)], shape[index(x, b)]);
  std::swap(strides[index(x, a)], strides[index(x, b)]);
  return t.view_of(x, shape, strides, x->offset, x.dtype());
}

Tensor transpose(Tape& t, const Tensor& x, int a, int b) {
  auto node = t.record("TransposeBackward0", transpose_back, {&x});
  if (node) node->first = a, node->second = b;
  return t.output(node, transposed(t, x, a, b));
}

Tensor slice(Tape& t, const Tensor& x, int dim, std::int64_t start, std::int64_t end) {
  auto node = t.record("SliceBackward0", slice_back, {&x});
  if (node) node->dims = x.shape(), node->first = static_cast<std::int64_t>(index(x, dim)), node->second = start;
  return t.output(node, narrowed(t, x, index(x, dim), start, end - start));
}

std::array<Tensor, 3> split3(Tape& t, const Tensor& x) {
  auto node = t.record("SplitBackward0", split_back, {&x});
  if (node) node->dims = x.shape(), node->dtype = x.dtype();
  const std::int64_t part = x.size(-1) / 3;
  std::array<Tensor, 3> out;
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = t.output(node, narrowed(t, x, x.shape().size() - 1, static_cast<std::int64_t>(i) * part, part));
  return out;
}

std::vector<Tensor> split(Tape& t, const Tensor& x, int dim, const std::vector<std::int64_t>& sizes) {
  auto node = t.record("SplitWithSizesBackward0", join_parts, {&x});
  if (node) {
    node->dims = x.shape(), node->dtype = x.dtype(), node->first = static_cast<std::int64_t>(index(x, dim));
    node->outputs = 1;
    node->more().parts.resize(sizes.size());
  }
  std::vector<Tensor> out;
  std::int64_t from = 0;
  for (std::int64_t n : sizes) {
    const Tensor part = narrowed(t, x, index(x, dim), from, n);
    from += n;
    out.push_back(node ? t.output(part_of(node, out.size()), part) : part);
  }
  return out;
}

Tensor unsqueeze(Tape& t, const Tensor& x, int dim) {
  auto node = t.record("UnsqueezeBackward0", unsqueeze_back, {&x});
  if (node) node->first = dim, node->dims = x.shape();
  Dims shape, strides;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == dim) shape.push_back(1), strides.push_back(i < x.rank() ? x.size(i) * x.strides().at(i) : 1);
    if (i < x.rank()) shape.push_back(x.size(i)), strides.push_back(x.strides().at(i));
  }
  return t.output(node, t.view_of(x, shape, strides, x->offset, x.dtype()));
}

Tensor expand(Tape& t, const Tensor& x, const Dims& shape) {
  auto node = t.record("ExpandBackward0", expand_back, {&x});
  if (node) node->dims = x.shape();
  return t.output(node, t.view_of(x, shape, expanded_strides(x.shape(), x.strides(), shape), x->offset, x.dtype()));
}

Tensor cat_with_nothing(Tape& t, const Tensor& x) {
  auto node = t.record("CatBackward0", whole, {&x});
  Tensor y = t.memory().empty(x.shape(), x.dtype(), "cat");
  t.backend().unary(Unary::copy, y, x, 0);
  return t.output(node, y);
}

Tensor cat(Tape& t, const Tensor& a0, const Tensor& b0, int along) {
  const DType type = promote(a0.dtype(), b0.dtype());
  const bool promotes = t.autocast().has_value();
  const Tensor a = promotes ? cast(t, a0, type) : a0, b = promotes ? cast(t, b0, type) : b0;
  const std::size_t dim = index(a, along);
  const std::int64_t first = a.shape()[dim], second = b.shape()[dim];
  auto node = t.record("CatBackward0", cat_back, {&a, &b});
  if (node) node->first = first, node->second = static_cast<std::int64_t>(dim);
  Dims shape = a.shape();
  shape[dim] += second;
  Tensor y = t.memory().empty(shape, type, "cat");
  t.backend().unary(Unary::copy, narrowed(t, y, dim, 0, first), a, 0);
  t.backend().unary(Unary::copy, narrowed(t, y, dim, first, second), b, 0);
  return t.output(node, y);
}

}  // namespace vramplan
