// The backend that computes on a card: our own kernels, in fp32 arithmetic over fp32, bf16 or fp16 storage, products of
// 16-bit operands on tensor cores. Deterministic: nothing is added by more than one block in an order that could vary.
// Kernels run after one another on one stream; reading a checksum waits for them.
#pragma once
#include "backend/cublas.h"
#include "backend/cuda_kernels.h"
#include "backend/cuda_memory.h"
#include "tensor/backend.h"

namespace vramplan {

struct CudaOptions {
  AllocatorOptions allocator;
  const Cublas* cublas = nullptr;  ///< makes the products that it takes; must outlive the backend
  Bytes workspace;                 ///< of cuBLAS: taken from the allocator for each product and given back
};

class CudaBackend : public Backend {
 public:
  /// Loads the kernels on the device that the driver has entered, which must outlive this. Throws UserError.
  CudaBackend(CudaDriver& driver, const CudaOptions& options);

  CudaMemory& memory() { return memory_; }
  void synchronise() const { driver_.synchronise(); }

  std::byte* allocate(Bytes n) override { return memory_.allocate(n); }
  void release(std::byte* p, Bytes) override { memory_.release(p); }
  std::uint64_t checksum(const Tensor& x) override;

  void fill(const Tensor& y, double value) override;
  void arange(const Tensor& y, double start) override;
  void tokens(const Tensor& y, std::int64_t vocabulary, std::uint64_t stream) override;
  void tril(const Tensor& y) override;
  void unary(Unary op, const Tensor& y, const Tensor& x, double a) override;
  void binary(Binary op, const Tensor& y, const Tensor& a, const Tensor& b) override;
  void accumulate(const Tensor& y, const Tensor& x, double a) override;
  void sum(const Tensor& y, const Tensor& x, double a) override;
  void matmul(const Tensor& y, const Tensor& a, const Tensor& b, double alpha, double beta) override;

  void softmax(const Tensor& y, const Tensor& x, bool log) override;
  void softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, bool log) override;
  void dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, RandomKey key) override;

  void layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& w,
                  const Tensor& b, double eps) override;
  void layer_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& db, const Tensor& dy, const Tensor& x,
                           const Tensor& mean, const Tensor& rstd, const Tensor& w) override;
  void rms_norm(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& w, double eps) override;
  void rms_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                         const Tensor& w) override;

  void embedding(const Tensor& y, const Tensor& w, const Tensor& ids) override;
  void embedding_backward(const Tensor& dw, const Tensor& dy, const Tensor& ids) override;
  void nll(const Tensor& loss, const Tensor& total, const Tensor& log_probs, const Tensor& target) override;
  void nll_backward(const Tensor& dx, const Tensor& dloss, const Tensor& target, const Tensor& total) override;

  void gather(const Tensor& y, const Tensor& x, const Tensor& index) override;
  void scatter(const Tensor& dx, const Tensor& dy, const Tensor& index) override;
  void cross_entropy_gradient(const Tensor& logits, const Tensor& losses, const Tensor& target,
                              const Tensor& all) override;

  void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& bias, const AttentionArgs& args) override;
  void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& bias, const Tensor& out, const Tensor& lse,
                          const AttentionArgs& args) override;

  void adam(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v, const AdamArgs& args) override;
  void dequantise(const Tensor& y, const StoredWeight& w) override;
  void matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight& w, const Tensor& bias) override;
  void adam_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const Blocks& v,
                      const AdamArgs& args) override;
  void lion(const Tensor& w, const Tensor& g, const Tensor& m, const AdamArgs& args) override;
  void lion_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const AdamArgs& args) override;
  void adafactor(const Tensor& w, const Tensor& g, const Tensor& row, const Tensor& column, const Tensor& variance,
                 const AdafactorArgs& args) override;
  void norm(const Tensor& y, const Tensor& x) override;
  void row_norms(const Tensor& y, const Tensor& x) override;
  void clip_coefficient(const Tensor& y, const Tensor& norm, double largest) override;

 private:
  CudaDriver& driver_;
  const Cublas* cublas_;
  Bytes workspace_;
  CudaKernels kernels_;
  CudaMemory memory_;
};

}  // namespace vramplan
