// Elementwise work, reductions and products of the cuda backend.
#include "backend/cuda.h"

#include "backend/cuda_views.h"
#include "vramplan/base/error.h"

namespace vramplan {

using cuda::view;

CudaBackend::CudaBackend(CudaDriver& driver, const CudaOptions& options)
    : driver_(driver),
      cublas_(options.cublas),
      workspace_(options.workspace),
      kernels_(driver),
      memory_(driver, options.allocator) {}

std::uint64_t CudaBackend::checksum(const Tensor& x) {
  std::uint64_t total = 0;
  const auto n = static_cast<std::int64_t>(x->storage->bytes.count());
  const auto out = driver_.allocate(Bytes(sizeof total));  // beside the ledger: it is no tensor of the step
  if (!out)
    throw UserError("the card has no room for a checksum", "out of memory", "take a smaller micro-batch",
                    Exit::out_of_memory);
  driver_.upload(*out, &total, sizeof total);
  kernels_.run("checksum", CudaKernels::grid_of((n + 7) / 8), reinterpret_cast<const unsigned char*>(x->storage->data),
               static_cast<long long>(n), *out);
  driver_.download(&total, *out, sizeof total);
  driver_.release(*out);
  return total;
}

void CudaBackend::fill(const Tensor& y, double value) {
  kernels_.each("fill", y.numel(), view(y), static_cast<float>(value));
}

void CudaBackend::arange(const Tensor& y, double start) { kernels_.each("arange", y.numel(), view(y), start); }

void CudaBackend::tokens(const Tensor& y, std::int64_t vocabulary, std::uint64_t stream) {
  kernels_.each("tokens", y.numel(), cuda::numbers(y), static_cast<long long>(vocabulary),
                static_cast<unsigned long long>(stream));
}

void CudaBackend::tril(const Tensor& y) {
  kernels_.each("tril", y.numel(), view(y), static_cast<long long>(cuda::width_of(y)));
}

void CudaBackend::unary(Unary op, const Tensor& y, const Tensor& x, double a) {
  kernels_.each("unary", y.numel(), view(y), static_cast<int>(op), view(x, y.shape()), static_cast<float>(a));
}

void CudaBackend::binary(Binary op, const Tensor& y, const Tensor& a, const Tensor& b) {
  kernels_.each("binary", y.numel(), view(y), static_cast<int>(op), view(a, y.shape()), view(b, y.shape()));
}

void CudaBackend::accumulate(const Tensor& y, const Tensor& x, double a) {
  kernels_.each("accumulate", y.numel(), view(y), view(x, y.shape()), static_cast<float>(a));
}

void CudaBackend::sum(const Tensor& y, const Tensor& x, double a) {
  Dims kept, kept_strides, reduced, reduced_strides;
  bool side_by_side = false;
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    const bool stays = y.shape()[d] == x.shape()[d];
    (stays ? kept : reduced).push_back(x.shape()[d]);
    (stays ? kept_strides : reduced_strides).push_back(x.strides()[d]);
    if (stays && x.shape()[d] > 1 && x.strides()[d] == 1) side_by_side = true;
  }
  const auto n = static_cast<long long>(y.numel());
  if (n == 0) return;
  const kernels::View of_kept = cuda::joined(x, kept, kept_strides),
                      of_reduced = cuda::joined(x, reduced, reduced_strides);
  const auto terms = static_cast<long long>(count(reduced));
  const auto factor = static_cast<float>(a);
  if (side_by_side)
    kernels_.run("sum_wide", {static_cast<unsigned>((n + 31) / 32)}, view(y), n, of_kept, of_reduced, terms, factor);
  else
    kernels_.run("sum_long", {static_cast<unsigned>(n)}, view(y), of_kept, of_reduced, terms, factor);
}

void CudaBackend::matmul(const Tensor& y, const Tensor& a, const Tensor& b, double alpha, double beta) {
  const kernels::Product p{
      cuda::matrix(y), cuda::matrix(a), cuda::matrix(b),           y.rank() == 3 ? y.size(0) : 1, y.size(-2),
      y.size(-1),      a.size(-1),      static_cast<float>(alpha), static_cast<float>(beta)};
  if (y.numel() == 0) return;
  if (cublas_) {
    std::byte* workspace = memory_.allocate(workspace_);
    const bool done = cublas_->multiply(p, workspace, workspace_.count());
    memory_.release(workspace);
    if (done) return;
  }
  constexpr int kTensorCores = 80;  ///< since this capability they take bf16
  const bool alike = a.dtype() == b.dtype() && kernels_.capability() >= kTensorCores;
  const bool bf16 = alike && a.dtype() == DType::bf16, fp16 = alike && a.dtype() == DType::fp16;
  const bool small = !bf16 && !fp16 && (p.rows <= 64 || p.columns <= 64);
  const long long side = small ? 64 : 128, most_batches = 65535;
  kernels_.run(bf16    ? "product_bf16"
               : fp16  ? "product_fp16"
               : small ? "product_small"
                       : "product_large",
               {static_cast<unsigned>((p.columns + side - 1) / side), static_cast<unsigned>((p.rows + side - 1) / side),
                static_cast<unsigned>(std::min(p.batch, most_batches))},
               p);
}

void CudaBackend::norm(const Tensor& y, const Tensor& x) {
  const unsigned blocks = cuda::partials_of(x.numel());
  kernels_.run("squares", {blocks}, view(x), static_cast<long long>(x.numel()));
  kernels_.run("root_of_squares", {}, view(y), static_cast<int>(blocks));
}

void CudaBackend::row_norms(const Tensor& y, const Tensor& x) {
  kernels_.run("row_norms", {static_cast<unsigned>(y.numel())}, view(y), view(x), static_cast<long long>(x.size(-1)));
}

void CudaBackend::clip_coefficient(const Tensor& y, const Tensor& norm, double largest) {
  kernels_.run("clip_coefficient", {}, view(y), view(norm), static_cast<float>(largest));
}

}  // namespace vramplan
