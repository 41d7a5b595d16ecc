// The backend that holds no memory and computes nothing: only the ledger sees the run.
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
  void matmul(const Tensor&, const Tensor&, const Tensor&, double, double) override {}
  void softmax(const Tensor&, const Tensor&, bool) override {}
  void softmax_backward(const Tensor&, const Tensor&, const Tensor&, bool) override {}
  void dropout(const Tensor&, const Tensor&, const Tensor&, double, RandomKey) override {}
  void layer_norm(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double) override {}
  void layer_norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&) override {}
  void rms_norm(const Tensor&, const Tensor&, const Tensor&, const Tensor&, double) override {}
  void rms_norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void embedding(const Tensor&, const Tensor&, const Tensor&) override {}
  void embedding_backward(const Tensor&, const Tensor&, const Tensor&) override {}
  void nll(const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void nll_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void attention(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const AttentionArgs&) override {}
  void attention_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                          const Tensor&, const Tensor&, const AttentionArgs&) override {}
  void adam(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const AdamArgs&) override {}
  void norm(const Tensor&, const Tensor&) override {}
  void clip_coefficient(const Tensor&, const Tensor&, double) override {}
};

}  // namespace vramplan
