// Optimizer steps of the cuda backend, and weights in few bits.
#include <cmath>

#include "backend/cuda.h"
#include "backend/cuda_views.h"

namespace vramplan {

using cuda::view;

namespace {

kernels::Adam adam_of(const AdamArgs& p) {
  const auto step = static_cast<double>(p.step);
  return {static_cast<float>(p.lr),
          static_cast<float>(p.beta1),
          static_cast<float>(p.beta2),
          static_cast<float>(p.eps),
          static_cast<float>(p.weight_decay),
          static_cast<float>(1 - std::pow(p.beta1, step)),
          static_cast<float>(1 - std::pow(p.beta2, step)),
          p.decoupled};
}

signed char* codes(const Blocks& b) { return reinterpret_cast<signed char*>(cuda::first_of(b.codes)); }
float* scales(const Blocks& b) { return reinterpret_cast<float*>(cuda::first_of(b.scales)); }

/// A block of threads for each block of numbers, none of them in turns.
CudaDriver::Grid block_a_block(const Tensor& w) { return {static_cast<unsigned>((w.numel() + 255) / 256)}; }

kernels::Stored stored(const StoredWeight& w, bool four_bits, std::int64_t columns) {
  return {reinterpret_cast<const unsigned char*>(cuda::first_of(w.codes)),
          view(w.scales),
          cuda::view_or_nothing(w.second_scales),
          cuda::view_or_nothing(w.offset),
          four_bits,
          columns};
}

}  // namespace

void CudaBackend::adam(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v, const AdamArgs& p) {
  kernels_.each("adam", w.numel(), view(w), view(g, w.shape()), view(m), view(v), adam_of(p));
}

void CudaBackend::lion(const Tensor& w, const Tensor& g, const Tensor& m, const AdamArgs& p) {
  kernels_.each("lion", w.numel(), view(w), view(g, w.shape()), view(m), adam_of(p));
}

void CudaBackend::adam_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const Blocks& v,
                                 const AdamArgs& p) {
  kernels_.run("adam_blockwise", block_a_block(w), view(w), static_cast<long long>(w.numel()), view(g, w.shape()),
               codes(m), scales(m), codes(v), scales(v), adam_of(p));
}

void CudaBackend::lion_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const AdamArgs& p) {
  kernels_.run("lion_blockwise", block_a_block(w), view(w), static_cast<long long>(w.numel()), view(g, w.shape()),
               codes(m), scales(m), adam_of(p));
}

void CudaBackend::adafactor(const Tensor& w, const Tensor& g, const Tensor& row, const Tensor& column,
                            const Tensor& variance, const AdafactorArgs& args) {
  const double step = static_cast<double>(args.step);
  const auto share = static_cast<float>(std::pow(step, -0.8));
  const auto n = static_cast<long long>(w.numel()), columns = static_cast<long long>(cuda::width_of(w));
  const kernels::View gradient = view(g), of_row = cuda::view_or_nothing(row),
                      of_column = cuda::view_or_nothing(column), of_variance = cuda::view_or_nothing(variance);
  const auto keep = [&](kernels::Total which, long long elements, bool root) {
    kernels_.run("adafactor_keep", {}, static_cast<int>(which), elements, static_cast<int>(cuda::partials_of(elements)),
                 static_cast<int>(root));
  };
  const CudaDriver::Grid all{cuda::partials_of(n)};
  if (row) {
    const auto rows = static_cast<long long>(w.size(0));
    kernels_.run("adafactor_rows", {static_cast<unsigned>(rows)}, of_row, gradient, columns, share);
    kernels_.each("adafactor_columns", columns, of_column, gradient, rows, share);
    kernels_.run("plain_sum", {cuda::partials_of(rows)}, of_row, rows);
    keep(kernels::kRowMean, rows, false);
  } else {
    kernels_.each("adafactor_elements", n, of_variance, gradient, share);
  }
  kernels_.run("squares", all, view(w), n);
  keep(kernels::kWeightSize, n, true);
  kernels_.run("adafactor_update_squares", all, gradient, n, of_row, of_column, of_variance, columns);
  keep(kernels::kUpdateSize, n, true);
  kernels_.each("adafactor_apply", n, view(w), gradient, of_row, of_column, of_variance, columns,
                static_cast<float>(1 - args.lr * args.weight_decay),
                static_cast<float>(std::min(args.lr, 1 / std::sqrt(step))));
}

void CudaBackend::dequantise(const Tensor& y, const StoredWeight& w) {
  kernels_.each("dequantise", y.numel(), view(y), stored(w, w.codes.numel() < y.numel(), y.size(1)));
}

void CudaBackend::matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight& w, const Tensor& bias) {
  kernels_.each("product_8bit", y.numel(), view(y), view(x), stored(w, false, x.size(1)), cuda::view_or_nothing(bias),
                static_cast<long long>(y.size(1)));
}

}  // namespace vramplan
