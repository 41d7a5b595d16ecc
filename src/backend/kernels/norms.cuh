// Layer norm, RMS norm and the 2-norms of rows. The gradients of their weights are sums over rows: 32 columns a block,
// in the order of rows.
#pragma once
#include "backend/kernels/rows.cuh"

namespace vramplan::kernels {

extern "C" {

__global__ void row_norms(View y, View x, int64 width) {
  const Row in(x, blockIdx.x, width);
  const float squares = over_row<Sum>(width, [&](int64 i) { return in[i] * in[i]; });
  if (threadIdx.x == 0) put(y, blockIdx.x, sqrtf(squares));
}

__global__ void layer_norm(View y, View mean, View rstd, View x, View w, View b, int64 width, float eps) {
  const Row in(x, blockIdx.x, width), out(y, blockIdx.x, width);
  const float n = static_cast<float>(width);
  const float m = over_row<Sum>(width, [&](int64 i) { return in[i]; }) / n;
  const float v = over_row<Sum>(width, [&](int64 i) { return (in[i] - m) * (in[i] - m); }) / n;
  const float k = 1 / sqrtf(v + eps);
  if (threadIdx.x == 0) put(mean, blockIdx.x, m), put(rstd, blockIdx.x, k);
  each_of_row(width, [&](int64 i) { out.set(i, (in[i] - m) * k * at(w, i) + at(b, i)); });
}

__global__ void layer_norm_backward(View dx, View dy, View x, View mean, View rstd, View w, int64 width) {
  const Row out(dx, blockIdx.x, width), gradient(dy, blockIdx.x, width), in(x, blockIdx.x, width);
  const float m = at(mean, blockIdx.x), k = at(rstd, blockIdx.x), n = static_cast<float>(width);
  const float plain = over_row<Sum>(width, [&](int64 i) { return gradient[i] * at(w, i); }) / n;
  const float along = over_row<Sum>(width, [&](int64 i) { return gradient[i] * at(w, i) * ((in[i] - m) * k); }) / n;
  each_of_row(width, [&](int64 i) { out.set(i, k * (gradient[i] * at(w, i) - plain - (in[i] - m) * k * along)); });
}

__global__ void rms_norm(View y, View rstd, View x, View w, int64 width, float eps) {
  const Row in(x, blockIdx.x, width), out(y, blockIdx.x, width);
  const float v = over_row<Sum>(width, [&](int64 i) { return in[i] * in[i]; }) / static_cast<float>(width);
  const float k = 1 / sqrtf(v + eps);
  if (threadIdx.x == 0) put(rstd, blockIdx.x, k);
  each_of_row(width, [&](int64 i) { out.set(i, in[i] * k * at(w, i)); });
}

__global__ void rms_norm_backward(View dx, View dy, View x, View rstd, View w, int64 width) {
  const Row out(dx, blockIdx.x, width), gradient(dy, blockIdx.x, width), in(x, blockIdx.x, width);
  const float k = at(rstd, blockIdx.x);
  const float along =
      over_row<Sum>(width, [&](int64 i) { return gradient[i] * at(w, i) * (in[i] * k); }) / static_cast<float>(width);
  each_of_row(width, [&](int64 i) { out.set(i, k * (gradient[i] * at(w, i) - in[i] * k * along)); });
}

/// dw = sum of dy * hat over rows, db = sum of dy. Without `mean`, an RMS norm, which has no db either.
__global__ void norm_weight_backward(View dw, View db, View dy, View x, View mean, View rstd, int64 rows, int64 width) {
  __shared__ float parts[2][8][32];
  const int place_in_row = threadIdx.x % 32, lane = threadIdx.x / 32;
  const int64 column = static_cast<int64>(blockIdx.x) * 32 + place_in_row;
  float to_weight = 0, to_bias = 0;
  if (column < width)
    for (int64 r = lane; r < rows; r += 8) {
      const float g = at(dy, r * width + column), m = mean.data ? at(mean, r) : 0;
      to_weight += g * ((at(x, r * width + column) - m) * at(rstd, r));
      to_bias += g;
    }
  parts[0][lane][place_in_row] = to_weight;
  parts[1][lane][place_in_row] = to_bias;
  __syncthreads();
  if (lane > 0 || column >= width) return;
  for (int l = 1; l < 8; ++l) {
    to_weight += parts[0][l][place_in_row];
    to_bias += parts[1][l][place_in_row];
  }
  put(dw, column, to_weight);
  if (db.data) put(db, column, to_bias);
}

}  // extern "C"

}  // namespace vramplan::kernels
