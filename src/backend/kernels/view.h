// What the host tells a kernel about a tensor. Free of any other header: this and the kernels are also compiled as
// text, at run time.
#pragma once

namespace vramplan::kernels {

/// Element types, numbered as DType.
enum Type { kFp32 = 0, kTf32 = 1, kFp16 = 2, kBf16 = 3, kInt8 = 6, kInt64 = 9, kBoolean = 10 };

constexpr int kMaxRank = 5;

/// A tensor seen at some shape, whose elements are counted in row-major order. Neighbouring dimensions that one stride
/// describes are one.
struct View {
  char* data;  ///< of element 0; null where an operand is not given
  int type, rank;
  int narrow;  ///< 32 bits count its elements
  long long size[kMaxRank], stride[kMaxRank];
};

/// [batch, rows, columns], as it lies.
struct Matrix {
  char* data;
  int type;
  long long batch, row, column;  ///< strides
};

/// [b, heads, s, d], as it lies.
struct Heads {
  char* data;
  int type;
  long long batch, head, row, column;
};

/// Draws of a counter-based stream; element i is kept when its 53 bits are at least `threshold`.
struct Draw {
  unsigned long long seed, call, threshold;
};

struct Attention {
  Heads q, k, v, out, bias, dout, dq, dk, dv;
  float* lse;
  long long lse_rows;  ///< of a head in `lse`
  int heads, group, s, t, d, dv_width, causal;
  float scale, factor;  ///< factor: 1 / (1 - dropout)
  int drops;
  Draw draw;
};

struct Adam {
  float lr, beta1, beta2, eps, decay, correction1, correction2;
  int decoupled;
};

/// Codes and scales of a weight in 4 or 8 bits.
struct Stored {
  const unsigned char* codes;
  View scales, second_scales, offset;
  int four_bits;
  long long columns;
};

struct Product {
  Matrix y, a, b;
  long long batch, rows, columns, depth;
  float alpha, beta;
};

constexpr int kPartials = 256;  ///< blocks of the first stage of a sum over everything, at most
enum Total { kRowMean, kWeightSize, kUpdateSize, kTotals };  ///< what Adafactor keeps between its kernels

}  // namespace vramplan::kernels
