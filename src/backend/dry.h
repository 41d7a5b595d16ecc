// The backend that holds no memory and computes nothing: only the ledger sees the run. It counts what the kernels
// would cost: multiplications and additions of matrix products and fused attention, and seconds on a card of known
// speed, each kernel reading its inputs and writing its results once unless said otherwise.
#pragma once
#include "tensor/backend.h"
#include "tensor/ledger.h"
#include "tensor/speed.h"

namespace vramplan {

class DryBackend final : public Backend {
 public:
  explicit DryBackend(const Speed& speed = {}) : speed_(speed) {}
  /// Books costs under the phase this ledger is in; without it, under `init`.
  void follow(const Ledger& ledger) { ledger_ = &ledger; }
  const Work& work() const { return work_; }

  std::byte* allocate(Bytes) override { return nullptr; }
  void release(std::byte*, Bytes) override {}
  std::uint64_t checksum(const Tensor&) override { return 0; }
  void fill(const Tensor& y, double) override { stream(y); }
  void arange(const Tensor& y, double) override { stream(y); }
  void tokens(const Tensor&, std::int64_t, std::uint64_t) override {}
  void tril(const Tensor& y) override { stream(y); }
  void unary(Unary, const Tensor& y, const Tensor& x, double) override { stream(y, x); }
  void binary(Binary, const Tensor& y, const Tensor& a, const Tensor& b) override { stream(y, a, b); }
  void accumulate(const Tensor& y, const Tensor& x, double) override { stream(y, y, x); }
  void sum(const Tensor& y, const Tensor& x, double) override { stream(y, x); }
  void matmul(const Tensor& y, const Tensor& a, const Tensor& b, double alpha, double beta) override;
  void softmax(const Tensor& y, const Tensor& x, bool) override { stream(y, x); }
  void softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, bool) override { stream(dx, dy, y); }
  void dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double, RandomKey) override { stream(y, mask, x); }
  void layer_norm(const Tensor& y, const Tensor&, const Tensor&, const Tensor& x, const Tensor&, const Tensor&,
                  double) override {
    stream(y, x);
  }
  /// One kernel for dx, one for the sums over rows.
  void layer_norm_backward(const Tensor& dx, const Tensor&, const Tensor&, const Tensor& dy, const Tensor& x,
                           const Tensor&, const Tensor&, const Tensor&) override {
    stream(dx, dy, x);
    stream(dy, x);
  }
  void rms_norm(const Tensor& y, const Tensor&, const Tensor& x, const Tensor&, double) override { stream(y, x); }
  void rms_norm_backward(const Tensor& dx, const Tensor&, const Tensor& dy, const Tensor& x, const Tensor&,
                         const Tensor&) override {
    stream(dx, dy, x);
    stream(dy, x);
  }
  void embedding(const Tensor& y, const Tensor&, const Tensor&) override { stream(y, y); }
  void embedding_backward(const Tensor& dw, const Tensor& dy, const Tensor&) override { stream(dw, dy); }
  void nll(const Tensor&, const Tensor&, const Tensor&, const Tensor& target) override { stream(target); }
  void nll_backward(const Tensor& dx, const Tensor&, const Tensor&, const Tensor&) override { stream(dx); }
  void gather(const Tensor& y, const Tensor&, const Tensor& index) override { stream(y, index); }
  void scatter(const Tensor& dx, const Tensor&, const Tensor&) override { stream(dx); }
  /// Liger's kernel: once for the sum, once for the gradient.
  void cross_entropy_gradient(const Tensor& logits, const Tensor&, const Tensor&, const Tensor&) override {
    stream(logits, logits, logits);
  }
  void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& bias, const AttentionArgs& args) override;
  void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& bias, const Tensor& out, const Tensor& lse,
                          const AttentionArgs& args) override;
  void adam(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v, const AdamArgs& args) override;
  void dequantise(const Tensor& y, const StoredWeight& w) override { stream(y, w.codes); }
  void matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight& w, const Tensor&) override;
  void adam_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const Blocks& v, const AdamArgs&) override {
    stream(w, w, g, m.codes, m.codes, v.codes, v.codes);
  }
  void lion(const Tensor& w, const Tensor& g, const Tensor& m, const AdamArgs&) override { stream(w, w, g, m, m); }
  void lion_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const AdamArgs&) override {
    stream(w, w, g, m.codes, m.codes);
  }
  void adafactor(const Tensor& w, const Tensor& g, const Tensor&, const Tensor&, const Tensor&,
                 const AdafactorArgs&) override;
  void norm(const Tensor&, const Tensor& x) override { stream(x); }
  void row_norms(const Tensor&, const Tensor&) override {}
  void clip_coefficient(const Tensor&, const Tensor&, double) override {}

 private:
  static double traffic(const Tensor& x);
  template <class... T>
  void stream(const T&... tensors) {
    if (speed_.known()) spend(0, 0, (traffic(tensors) + ...));
  }
  void spend(double flops, double seconds_of_flops, double bytes);

  const Speed speed_;
  const Ledger* ledger_ = nullptr;
  Work work_;
};

}  // namespace vramplan
