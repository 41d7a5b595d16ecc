#include "tape/quantised.h"

#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

Tensor rows_of(Tape& t, const Tensor& x) {
  return t.view_of(x, {x.numel() / x.size(-1), x.size(-1)}, {x.size(-1), 1}, x->offset, x.dtype());
}

/// y [n, out] = x [n, in] @ w [in, out] (+ bias)
Tensor product(Tape& t, const Tensor& x, const Tensor& w, const Tensor& bias, const Dims& shape) {
  Tensor y = t.memory().empty(shape, x.dtype(), bias ? "addmm" : "mm");
  const Tensor rows = rows_of(t, y);
  if (bias)
    t.backend().unary(Unary::copy, rows,
                      t.view_of(bias, rows.shape(), expanded_strides(bias.shape(), bias.strides(), rows.shape()),
                                bias->offset, bias.dtype()),
                      0);
  t.memory().ledger().product(bias ? Event::Kind::biased_product : Event::Kind::product);
  t.backend().matmul(rows, rows_of(t, x), w, 1, bias ? 1 : 0);
  return y;
}

/// dequantize_4bit: [out, in]. Scales in 8 bits are made fp32 first, `copies` times.
Tensor unpacked(Tape& t, const QuantisedWeight& w, DType dtype, int copies, Tensor& wide, Tensor& shifted) {
  if (w.second_scales) {
    wide = t.memory().empty(w.scales.shape(), DType::fp32, "dequantize_blockwise");
    if (copies == 2) shifted = t.memory().empty(w.scales.shape(), DType::fp32, "add");
  }
  Tensor y = t.memory().empty({w.out, w.in}, dtype, "dequantize_4bit");
  t.backend().dequantise(y, {w.codes, w.scales, w.second_scales, w.offset});
  return y;
}

Grads seen_by_python(Tensor dx) {
  dx->pinned = true;
  return {std::move(dx)};
}

Grads four_bit_backward(Tape& t, Node& n, Grads& dy) {
  const QuantisedWeight& w = *n.rare->quantised;
  Tensor weight;
  {
    Tensor wide, shifted;
    weight = unpacked(t, w, w.dtype, 1, wide, shifted);
  }
  weight = cast(t, weight, dy[0].dtype());
  return seen_by_python(product(t, dy[0], weight, {}, with_last(dy[0].shape(), w.in)));
}

Tensor four_bit(Tape& t, const Tensor& x, const QuantisedWeight& w, const Tensor& bias) {
  auto node = t.record("MatMul4Bit", four_bit_backward, {&x});
  if (node) node->more().quantised = &w;
  Tensor y;
  {
    Tensor wide, shifted;
    const Tensor weight = unpacked(t, w, x.dtype(), 2, wide, shifted);
    y = product(t, x, transposed(t, weight, 0, 1), bias, with_last(x.shape(), w.out));
  }
  return t.output(node, y);
}

Grads eight_bit_backward(Tape& t, Node& n, Grads& dy) {
  const QuantisedWeight& w = *n.rare->quantised;
  const Tensor weight = t.memory().empty({w.out, w.in}, n.dtype, "_to_copy");
  { const Tensor shares = t.memory().empty({w.out, 1}, DType::fp32, "mul"); }
  t.backend().dequantise(weight, {w.codes, w.scales, {}, {}});
  const Tensor gradient = cast(t, dy[0], n.dtype);
  return seen_by_python(product(t, gradient, weight, {}, with_last(gradient.shape(), w.in)));
}

/// int8_vectorwise_quant: rows in 8 bits with a scale each. Makes two tensors of the size of x on the way.
void quantise_rows(Tape& t, const Tensor& x, std::int64_t rows, Tensor& scales, Tensor& codes) {
  Memory& m = t.memory();
  const Dims shape{rows, x.size(-1)};
  const Tensor half = cast(t, x, DType::fp16);
  scales = m.empty({rows}, DType::fp32, "row_stats");
  codes = m.empty(shape, DType::int8, "int8_vectorwise_quant");
  Tensor outliers;
  {
    const Tensor size = m.empty(shape, DType::fp16, "abs");
    outliers = m.empty(shape, DType::boolean, "ge");
  }
  const Tensor any = m.empty({}, DType::boolean, "any");
}

/// int8_mixed_scaled_mm without outliers: int32 sums, made fp16, then cast.
Tensor eight_bit_product(Tape& t, const Tensor& x, const QuantisedWeight& w, const Tensor& bias, std::int64_t rows) {
  Memory& m = t.memory();
  const Dims shape{rows, w.out};
  const Tensor sums = m.empty(shape, DType::fp32, "int8_linear_matmul");
  const Tensor narrow = m.empty(shape, DType::fp16, "int8_mm_dequant");
  Tensor y = x.dtype() == DType::fp16 ? narrow : m.empty(shape, x.dtype(), "_to_copy");
  t.backend().matmul_8bit(y, rows_of(t, x), {w.codes, w.scales, {}, {}}, bias);
  return y;
}

Tensor eight_bit(Tape& t, const Tensor& x, const QuantisedWeight& w, const Tensor& bias) {
  auto node = t.record("MatMul8bitLt", eight_bit_backward, {&x});
  const std::int64_t rows = x.numel() / w.in;
  Tensor y;
  {
    Tensor scales, codes;
    quantise_rows(t, x, rows, scales, codes);
    y = eight_bit_product(t, x, w, bias, rows);
  }
  if (node) {
    node->more().quantised = &w;
    node->dtype = x.dtype();
    if (x->storage->category == Category::temporary) t.memory().reclassify(x, Category::activation);
    node->more().attribute = x.ref();
  }
  const Dims shape = with_last(x.shape(), w.out);
  Tensor shaped(make_ref<TensorImpl>(y->storage, shape, contiguous_strides(shape), 0, y.dtype()));
  return t.output(node, shaped);
}

/// bias.data = bias.data.to(x.dtype): the first product changes the parameter for good.
void settle_bias(Tape& t, const Tensor& bias, DType dtype) {
  if (!bias || bias.dtype() == dtype) return;
  Restore category(t.memory().category, Category::parameter);
  const Tensor settled = t.memory().empty(bias.shape(), dtype, "parameter");
  t.backend().unary(Unary::copy, settled, bias, 0);
  bias->storage = settled->storage;
  bias->dtype = dtype;
}

}  // namespace

Tensor dequantised(Tape& t, const QuantisedWeight& w) {
  if (w.four_bits) {
    Tensor wide, shifted;
    return unpacked(t, w, w.dtype, 1, wide, shifted);
  }
  const Tensor scaled = t.memory().empty({w.out, w.in}, DType::fp32, "mul");
  Tensor y = t.memory().empty({w.out, w.in}, DType::fp32, "mul");
  t.backend().dequantise(y, {w.codes, w.scales, {}, {}});
  return y;
}

Tensor quantised_linear(Tape& t, const Tensor& x, const QuantisedWeight& w, const Tensor& bias) {
  if (!w.four_bits) {
    settle_bias(t, bias, x.dtype());
    return eight_bit(t, x, w, bias);
  }
  const Tensor narrow = cast(t, x, w.multiplied);
  settle_bias(t, bias, narrow.dtype());
  const Tensor y = four_bit(t, narrow, w, bias);
  return cast(t, y, x.dtype());
}

}  // namespace vramplan
