#include "tape/fp8_linear.h"

#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

/// Rows of a tensor in 8 bits, its transpose where asked for, and the inverse of their scale.
struct Quantised {
  Tensor scale, rows, columns;
};

Quantised quantise(Tape& t, const Tensor& x, DType type, bool columns, bool delayed) {
  const std::int64_t width = x.size(-1), count = x.numel() / width;
  Quantised q;
  auto make_scale = [&] { q.scale = t.memory().empty({1}, DType::fp32, "fp8 scale"); };
  if (delayed) make_scale();
  q.rows = t.memory().empty({count, width}, type, "fp8 quantize");
  if (columns) q.columns = t.memory().empty({width, count}, type, "fp8 quantize");
  if (!delayed) {
    make_scale();
    const Tensor largest = t.memory().empty({2}, DType::fp32, "fp8 amax");
  }
  t.backend().unary(Unary::copy, q.rows, t.view_of(x, q.rows.shape(), q.rows.strides(), x->offset, x.dtype()), 0);
  return q;
}

void make_state(Tape& t, Fp8Layer& layer) {
  if (!layer.delayed || layer.scales) return;
  constexpr std::int64_t kHistory = 1024;  // amax_history_len
  Restore category(t.memory().category, Category::parameter);
  auto make = [&](const Dims& shape) { return t.memory().empty(shape, DType::fp32, "fp8 state"); };
  layer.scales = make({3});
  layer.history = make({kHistory, 3});
  layer.backward_scales = make({2});
  layer.backward_history = make({kHistory, 2});
}

Tensor product(Tape& t, const Tensor& rows, const Tensor& columns, const Dims& shape, DType type) {
  Tensor y = t.memory().empty(shape, type, "fp8 gemm");
  t.backend().matmul(t.view_of(y, {rows.size(0), columns.size(1)}, {columns.size(1), 1}, 0, type), rows, columns, 1, 0);
  return y;
}

// saved: x, its scale, the weight's rows, columns (where there are any) and scale
Grads backward(Tape& t, Node& n, Grads& dy) {
  const Tensor x = n.get(t, 0), x_scale = n.get(t, 1), rows = n.get(t, 2), columns = n.get(t, 3), w_scale = n.get(t, 4);
  const bool transposes = wants_fp8_transposes(t.device);
  const std::int64_t out = n.first, in = n.second;
  Grads grads{Tensor(), Tensor(), Tensor()};
  if (n.wants(2)) grads[2] = sum_to(t, dy[0], {out});
  const Quantised q = quantise(t, dy[0], DType::fp8_e5m2, transposes && n.wants(1), n.number != 0);
  const Tensor w = transposes && columns ? transposed(t, columns, 0, 1) : rows;  // [out, in]
  if (n.wants(0)) {
    grads[0] = product(t, q.rows, w, with_last(dy[0].shape(), in), n.dtype);
    grads[0]->pinned = true;
  }
  if (n.wants(1)) {
    const Tensor left = transposes ? q.columns : transposed(t, q.rows, 0, 1);  // [out, n]
    grads[1] = product(t, left, transposes ? transposed(t, x, 0, 1) : x, {out, in}, n.dtype);
  }
  return grads;
}

}  // namespace

bool wants_fp8_transposes(const Device& d) {
  return d.compute_capability < 100 || (d.compute_capability >= 120 && d.compute_capability < 130);
}

Bytes fp8_workspace(const Device& d) {
  return d.compute_capability >= 90 ? Bytes(32 * kMiB + 1024) : Bytes(4 * kMiB);  // cpp_extensions/gemm.py
}

Tensor fp8_linear(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& bias, Fp8Layer& layer) {
  make_state(t, layer);
  auto node = t.record("_LinearBackward", backward, {&x, &weight, &bias});
  const DType type = t.autocast().value_or(x.dtype());
  const bool transposes = wants_fp8_transposes(t.device);
  Quantised in = quantise(t, x, DType::fp8_e4m3, transposes && node && node->wants(1), layer.delayed);
  const Quantised w = quantise(t, weight, DType::fp8_e4m3, transposes && node && node->wants(0), layer.delayed);
  Tensor y;
  {
    const Tensor added = bias && bias.dtype() != type ? t.memory().empty(bias.shape(), type, "_to_copy") : bias;
    y = product(t, in.rows, transposed(t, w.rows, 0, 1), with_last(x.shape(), weight.size(0)), type);
    if (in.columns) in.rows.reset();
    if (node) {
      const bool keeps = node->wants(1);
      node->first = weight.size(0), node->second = weight.size(1), node->dtype = type, node->number = layer.delayed;
      for (const Tensor& saved : {keeps ? (in.columns ? in.columns : in.rows) : Tensor(), keeps ? in.scale : Tensor(),
                                  w.rows, w.columns, w.scale})
        if (saved)
          t.save(node, saved);
        else
          node->keep_for_backward(Saved());
    }
  }
  return t.output(node, y);
}

}  // namespace vramplan
