// Elementwise operations, reductions and creation. Each line says what is kept for backward; the source is
// tools/autograd/derivatives.yaml of PyTorch 2.15 unless another is named. Results take the layout that
// TensorIterator gives them.
#pragma once
#include "tape/tape.h"

namespace vramplan {

// ---- creation: no gradients ----
Tensor filled(Tape& t, const Dims& shape, DType dtype, double value, const char* op);
Tensor arange(Tape& t, std::int64_t n);  ///< int64 [n]: 0, 1, ...
/// Sets every row of int64 x [b, n] to start, start + 1, ...
void count_in_rows(Tape& t, const Tensor& x, double start);
Tensor eye(Tape& t, std::int64_t n, DType dtype);  ///< [n, n]: the unit matrix

// ---- two operands, broadcast and promoted ----
Tensor add(Tape& t, const Tensor& a, const Tensor& b);           ///< keeps nothing
Tensor add_in_place(Tape& t, const Tensor& a, const Tensor& b);  ///< a += b; keeps nothing
Tensor mul(Tape& t, const Tensor& a, const Tensor& b);           ///< keeps each operand that the other's gradient needs
Tensor subtract(Tape& t, const Tensor& a, const Tensor& b);      ///< a - b; keeps nothing
Tensor divide(Tape& t, const Tensor& a, const Tensor& b);        ///< a / b, where b wants no gradient; keeps b
Tensor compare(Tape& t, Binary op, const Tensor& a, const Tensor& b, const char* name);  ///< bool result, no gradient

// ---- one operand and numbers ----
Tensor scale(Tape& t, const Tensor& x, double a, const char* op = "mul");  ///< keeps nothing
Tensor shift(Tape& t, const Tensor& x, double a);                          ///< x + a; keeps nothing
Tensor negate(Tape& t, const Tensor& x);                                   ///< keeps nothing
/// keeps x; autocast runs it in fp32. Backward makes x^(e-1), e times that, and the product with the gradient.
Tensor power(Tape& t, const Tensor& x, double e);
Tensor rsqrt(Tape& t, const Tensor& x);                            ///< keeps the result; autocast runs it in fp32
Tensor tanh(Tape& t, const Tensor& x);                             ///< keeps the result
Tensor map(Tape& t, Unary op, const Tensor& x, const char* name);  ///< no gradient (cos, sin ...)

// ---- types and copies ----
Tensor cast(Tape& t, const Tensor& x, DType dtype);  ///< x itself when nothing changes; keeps nothing
Tensor clone(Tape& t, const Tensor& x);              ///< a contiguous copy; keeps nothing

/// x [1, ...] that many times along the first dimension (torch.Tensor.repeat); keeps nothing. Backward sums.
Tensor repeat(Tape& t, const Tensor& x, std::int64_t times);

// ---- reductions ----
Tensor mean_last(Tape& t, const Tensor& x);  ///< over the last dimension, kept as 1; keeps sizes only
Tensor mean_all(Tape& t, const Tensor& x);   ///< scalar; keeps sizes only
/// 2-norms over the last dimension (torch.linalg.norm); under autocast fp32, without a cast of x. No gradient.
Tensor row_norms(Tape& t, const Tensor& x);
/// ATen sum_to: x summed down to a shape that broadcasts to its own. No gradient.
Tensor sum_to(Tape& t, const Tensor& x, const Dims& shape);

}  // namespace vramplan
