// What a training step is run on. `dry` holds no memory and computes nothing; `host` computes on the CPU. Every
// operation of the tape calls these kernels in the same order on every backend, so the ledgers are equal.
//
// Kernels take tensors of any strides, broadcast their inputs to the shape of the result, convert on load and
// store, and compute in fp32. They allocate nothing: what CUDA's kernels allocate inside themselves is booked by
// the operation. Results never depend on the number of threads.
#pragma once
#include <cstdint>
#include <vector>

#include "tensor/operation.h"
#include "tensor/tensor.h"

namespace vramplan {

/// Position of a draw in the counter-based random stream: the n-th element of call `call` under `seed`.
struct RandomKey {
  std::uint64_t seed = 0, call = 0;
};

struct AttentionArgs {
  double scale = 1;
  double dropout = 0;
  bool causal = false;
  RandomKey random;
};

struct AdamArgs {
  double lr, beta1, beta2, eps, weight_decay;
  std::int64_t step;
  bool decoupled;  ///< AdamW; otherwise L2 weight decay is added to the gradient
  bool fused;      ///< one kernel; otherwise one for each arithmetic step
};

/// A state in blocks of 256 numbers: 8 bits each, and an fp32 scale a block.
struct Blocks {
  const Tensor &codes, &scales;
};

/// A weight in 4 bits (codes [n / 2, 1]) or in 8 (codes [out, in]), as bitsandbytes stores it; null where not used.
struct StoredWeight {
  Tensor codes, scales, second_scales, offset;
};

struct AdafactorArgs {
  double lr, weight_decay;
  std::int64_t step;
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual std::byte* allocate(Bytes n) = 0;
  virtual void release(std::byte* p, Bytes n) = 0;
  /// Of all bytes of the tensor's storage; the same on every backend that computes.
  virtual std::uint64_t checksum(const Tensor& x) = 0;

  virtual void fill(const Tensor& y, double value) = 0;
  /// y[i] = start + i, over all elements in their order.
  virtual void arange(const Tensor& y, double start) = 0;
  /// int64: token numbers below `vocabulary`, different for each `stream`
  virtual void tokens(const Tensor& y, std::int64_t vocabulary, std::uint64_t stream) = 0;
  /// y[i, j] = j <= i
  virtual void tril(const Tensor& y) = 0;
  /// `a` is the factor, the summand, the exponent, or (mask_to_bias) the value where x is false.
  virtual void unary(Unary op, const Tensor& y, const Tensor& x, double a) = 0;
  /// Backward kernels take (gradient, saved); `saved` is the result for tanh and the input otherwise.
  virtual void binary(Binary op, const Tensor& y, const Tensor& a, const Tensor& b) = 0;
  /// y += a * x, elementwise after broadcasting x.
  virtual void accumulate(const Tensor& y, const Tensor& x, double a) = 0;
  /// y = a * sum of x over the dimensions where y has size 1 (y has the rank of x).
  virtual void sum(const Tensor& y, const Tensor& x, double a) = 0;
  /// y = alpha * a @ b + beta * y, over two dimensions, or three with a batch in front.
  virtual void matmul(const Tensor& y, const Tensor& a, const Tensor& b, double alpha, double beta) = 0;

  virtual void softmax(const Tensor& y, const Tensor& x, bool log) = 0;
  virtual void softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, bool log) = 0;
  virtual void dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, RandomKey key) = 0;

  virtual void layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& w,
                          const Tensor& b, double eps) = 0;
  virtual void layer_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& db, const Tensor& dy,
                                   const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& w) = 0;
  virtual void rms_norm(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& w, double eps) = 0;
  virtual void rms_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                 const Tensor& rstd, const Tensor& w) = 0;

  /// y[n, h] = w[ids[n], h]
  virtual void embedding(const Tensor& y, const Tensor& w, const Tensor& ids) = 0;
  /// Here `ids` may repeat one row for every sample.
  virtual void embedding_backward(const Tensor& dw, const Tensor& dy, const Tensor& ids) = 0;

  /// Mean over rows of -log_probs[row, target]; rows with a negative target do not count. total = rows counted.
  virtual void nll(const Tensor& loss, const Tensor& total, const Tensor& log_probs, const Tensor& target) = 0;
  virtual void nll_backward(const Tensor& dx, const Tensor& dloss, const Tensor& target, const Tensor& total) = 0;

  /// y[..., 0] = x[..., index[..., 0]], and the other way: dx[..., index[..., 0]] = dy[..., 0].
  virtual void gather(const Tensor& y, const Tensor& x, const Tensor& index) = 0;
  virtual void scatter(const Tensor& dx, const Tensor& dy, const Tensor& index) = 0;
  /// Rows of logits [n, v] become their gradients; losses [n] are set. Both are those of a mean over the targets of
  /// `all` that count.
  virtual void cross_entropy_gradient(const Tensor& logits, const Tensor& losses, const Tensor& target,
                                      const Tensor& all) = 0;

  /// q [b, a, s, d], k and v [b, k, s, d]; bias may be null or broadcast to [b, a, s, s]; lse [b, a, >= s].
  virtual void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                         const Tensor& bias, const AttentionArgs& args) = 0;
  virtual void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                  const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                                  const Tensor& out, const Tensor& lse, const AttentionArgs& args) = 0;

  /// One element per parameter: w, m, v are updated in place.
  virtual void adam(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v, const AdamArgs& args) = 0;
  /// y [out, in] from few bits.
  virtual void dequantise(const Tensor& y, const StoredWeight& w) = 0;
  /// y [n, out] = x [n, in] @ the transposed 8-bit weight + bias (may be null).
  virtual void matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight& w, const Tensor& bias) = 0;

  virtual void adam_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const Blocks& v,
                              const AdamArgs& args) = 0;
  /// w -= lr * (sign of beta1 m + (1 - beta1) g, + decay w); m = beta2 m + (1 - beta2) g.
  virtual void lion(const Tensor& w, const Tensor& g, const Tensor& m, const AdamArgs& args) = 0;
  virtual void lion_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const AdamArgs& args) = 0;
  /// w is updated; a matrix uses row [r, 1] and column [1, c], anything else `variance` (the others are null).
  virtual void adafactor(const Tensor& w, const Tensor& g, const Tensor& row, const Tensor& column,
                         const Tensor& variance, const AdafactorArgs& args) = 0;
  /// y[r] = the 2-norm of row r of x [rows, width], contiguous.
  virtual void row_norms(const Tensor& y, const Tensor& x) = 0;
  /// y = the 2-norm of x.
  virtual void norm(const Tensor& y, const Tensor& x) = 0;
  /// y = min(1, largest / norm)
  virtual void clip_coefficient(const Tensor& y, const Tensor& norm, double largest) = 0;
};

}  // namespace vramplan
