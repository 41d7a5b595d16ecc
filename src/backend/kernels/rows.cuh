// One block a row: softmax and losses.
#pragma once
#include "backend/kernels/number.cuh"

namespace vramplan::kernels {

/// fn(column) over a row, columns taken in turns; summed over the block.
template <class How, class Term>
__device__ inline float over_row(int64 width, Term term) {
  float x = How::kNone;
  for (int64 i = threadIdx.x; i < width; i += kThreads) x = How::join(x, term(i));
  return over_block<How>(x);
}
template <class Each>
__device__ inline void each_of_row(int64 width, Each each) {
  for (int64 i = threadIdx.x; i < width; i += kThreads) each(i);
}

extern "C" {

__global__ void softmax(View y, View x, int64 width, int log) {
  const Row in(x, blockIdx.x, width), out(y, blockIdx.x, width);
  const float top = over_row<Largest>(width, [&](int64 i) { return in[i]; });
  const float total = over_row<Sum>(width, [&](int64 i) { return expf(in[i] - top); });
  const float log_total = logf(total);
  each_of_row(width, [&](int64 i) { out.set(i, log ? in[i] - top - log_total : expf(in[i] - top) / total); });
}

__global__ void softmax_backward(View dx, View dy, View y, int64 width, int log) {
  const Row out(dx, blockIdx.x, width), gradient(dy, blockIdx.x, width), result(y, blockIdx.x, width);
  const float total = over_row<Sum>(width, [&](int64 i) { return log ? gradient[i] : gradient[i] * result[i]; });
  each_of_row(width, [&](int64 i) {
    out.set(i, log ? gradient[i] - expf(result[i]) * total : result[i] * (gradient[i] - total));
  });
}

/// One block for all rows: mean of -log_probs[row, target], and how many rows count.
__global__ void nll(View loss, View total, View log_probs, const int64* target, int64 rows, int64 width) {
  const auto counts = [&](int64 r) { return target[r] >= 0; };
  const float sum = over_row<Sum>(rows, [&](int64 r) { return counts(r) ? -at(log_probs, r * width + target[r]) : 0; });
  const float counted = over_row<Sum>(rows, [&](int64 r) { return counts(r) ? 1.0F : 0.0F; });
  if (threadIdx.x > 0) return;
  put(total, 0, counted);
  put(loss, 0, counted > 0 ? sum / counted : 0);
}

__global__ void cross_entropy_gradient(View logits, View losses, const int64* target, const int64* all, int64 targets,
                                       int64 width) {
  const Row x(logits, blockIdx.x, width);
  const int64 label = target[blockIdx.x];
  const float share = 1 / over_row<Sum>(targets, [&](int64 i) { return all[i] >= 0 ? 1.0F : 0.0F; });
  const float top = over_row<Largest>(width, [&](int64 i) { return x[i]; });
  const float total = over_row<Sum>(width, [&](int64 i) { return expf(x[i] - top); });
  if (threadIdx.x == 0) put(losses, blockIdx.x, label < 0 ? 0 : share * (top + logf(total) - x[label]));
  __syncthreads();  // x[label] has been read
  each_of_row(width, [&](int64 i) {
    const float p = expf(x[i] - top) / total;
    x.set(i, label < 0 ? 0 : share * (p - (i == label ? 1.0F : 0.0F)));
  });
}

/// dw[v, h]: the gradients of the rows with this token, in order. A block for each token and kThreads columns. The n
/// ids begin again after `distinct`.
__global__ void embedding_backward(Matrix dw, View dy, const int64* ids, int64 n, int64 distinct, int64 width) {
  __shared__ int found[kThreads];
  const int64 token = blockIdx.x, column = static_cast<int64>(blockIdx.y) * kThreads + threadIdx.x;
  float total = 0;
  for (int64 from = 0; from < n; from += kThreads) {
    found[threadIdx.x] = from + threadIdx.x < n && ids[(from + threadIdx.x) % distinct] == token;
    if (__syncthreads_or(found[threadIdx.x]) && column < width)
      for (int i = 0; i < kThreads; ++i)
        if (found[i]) total += at(dy, (from + i) * width + column);
    __syncthreads();
  }
  if (column < width) store(dw.data, dw.type, token * dw.row + column * dw.column, total);
}

}  // extern "C"

}  // namespace vramplan::kernels
