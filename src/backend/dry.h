// The backend that holds no memory and computes nothing: only the ledger sees the run. It counts what the matrix
// products would cost.
#pragma once
#include "tensor/backend.h"

namespace vramplan {

class DryBackend final : public Backend {
 public:
  std::byte* allocate(Bytes) override { return nullptr; }
  void release(std::byte*, Bytes) override {}
  void fill(const Tensor&, double) override {}
  void arange(const Tensor&, double) override {}
  void tokens(const Tensor&, std::int64_t, std::uint64_t) override {}
  void tril(const Tensor&) override {}
  void unary(Unary, const Tensor&, const Tensor&, double) override {}
  void binary(Binary, const Tensor&, const Tensor&, const Tensor&) override {}
  void accumulate(const Tensor&, const Tensor&, double) override {}
  void sum(const Tensor&, const Tensor&, double) override {}
  void matmul(const Tensor& y, const Tensor& a, const Tensor&, double, double) override {
    flops_ += 2.0 * static_cast<double>(y.numel()) * static_cast<double>(a.size(-1));
  }
  void softmax(const Tensor&, const Tensor&, bool) override {}
  void softmax_backward(const Tensor&, const Tensor&, const Tensor&, bool) override {}
  void dropout(const Tensor&, const Tensor&, const Tensor&, double, RandomKey) override {}
  void layer_norm(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                  double) override {}
  void layer_norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, const Tensor&) override {}
  void rms_norm(const Tensor&, const Tensor&, const Tensor&, const Tensor&, double) override {}
  void rms_norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                         const Tensor&) override {}
  void embedding(const Tensor&, const Tensor&, const Tensor&) override {}
  void embedding_backward(const Tensor&, const Tensor&, const Tensor&) override {}
  void nll(const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void nll_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void gather(const Tensor&, const Tensor&, const Tensor&) override {}
  void scatter(const Tensor&, const Tensor&, const Tensor&) override {}
  void cross_entropy_gradient(const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void attention(const Tensor&, const Tensor&, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor&,
                 const AttentionArgs& args) override {
    flops_ += fused(q, k, args) * static_cast<double>(q.size(3) + v.size(3));
  }
  void attention_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor& q, const Tensor& k,
                          const Tensor& v, const Tensor&, const Tensor&, const Tensor&,
                          const AttentionArgs& args) override {
    flops_ += fused(q, k, args) *
              static_cast<double>(3 * q.size(3) + 2 * v.size(3));  // the scores once more, then dv, dp, dq, dk
  }
  void adam(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const AdamArgs&) override {}
  void dequantise(const Tensor&, const StoredWeight&) override {}
  void matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight&, const Tensor&) override {
    flops_ += 2.0 * static_cast<double>(y.numel()) * static_cast<double>(x.size(-1));
  }
  void adam_blockwise(const Tensor&, const Tensor&, const Blocks&, const Blocks&, const AdamArgs&) override {}
  void lion(const Tensor&, const Tensor&, const Tensor&, const AdamArgs&) override {}
  void lion_blockwise(const Tensor&, const Tensor&, const Blocks&, const AdamArgs&) override {}
  void adafactor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                 const AdafactorArgs&) override {}
  void norm(const Tensor&, const Tensor&) override {}
  void clip_coefficient(const Tensor&, const Tensor&, double) override {}

  /// Multiplications and additions of all matrix products and fused attention so far.
  double flops() const { return flops_; }

 private:
  /// Two operations for each pair of positions that see each other: half of them in causal attention.
  static double fused(const Tensor& q, const Tensor& k, const AttentionArgs& args) {
    const double pairs =
        static_cast<double>(q.size(0) * q.size(1)) * static_cast<double>(q.size(2)) * static_cast<double>(k.size(2));
    return args.causal ? pairs : 2 * pairs;
  }
  double flops_ = 0;
};

}  // namespace vramplan
