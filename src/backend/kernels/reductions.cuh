// Sums: partial sums of a thread, then of a block, in an order that only the shape decides.
#pragma once
#include "backend/kernels/number.cuh"

namespace vramplan::kernels {

__device__ float partials[kPartials];

/// A thread's share of a sum over n elements that the whole grid takes turns at.
template <class Term>
__device__ inline void put_partial(int64 n, Term term) {
  float x = 0;
  for (int64 i = first_element(); i < n; i += grid_step()) x += term(i);
  x = over_block<Sum>(x);
  if (threadIdx.x == 0) partials[blockIdx.x] = x;
}
/// By the one block that runs after those.
__device__ inline float total_of_partials(int blocks) {
  return over_block<Sum>(static_cast<int>(threadIdx.x) < blocks ? partials[threadIdx.x] : 0);
}

extern "C" {

/// A block for each element of the result. `kept` counts the results in x, `reduced` what each of them sums.
__global__ void sum_long(View y, View x_kept, View x_reduced, int64 reduced, float a) {
  const char* data = x_kept.data;
  const int64 from = place(x_kept, blockIdx.x);
  float total = 0;
  for (int64 i = threadIdx.x; i < reduced; i += kThreads) total += load(data, x_kept.type, from + place(x_reduced, i));
  total = over_block<Sum>(total);
  if (threadIdx.x == 0) put(y, blockIdx.x, a * total);
}

/// 32 neighbouring results a block, eight threads for each: where the results lie side by side.
__global__ void sum_wide(View y, int64 n, View x_kept, View x_reduced, int64 reduced, float a) {
  __shared__ float parts[8][32];
  const int column = threadIdx.x % 32, lane = threadIdx.x / 32;
  const int64 i = static_cast<int64>(blockIdx.x) * 32 + column;
  float total = 0;
  if (i < n) {
    const int64 from = place(x_kept, i);
    for (int64 r = lane; r < reduced; r += 8) total += load(x_kept.data, x_kept.type, from + place(x_reduced, r));
  }
  parts[lane][column] = total;
  __syncthreads();
  if (lane > 0 || i >= n) return;
  for (int l = 1; l < 8; ++l) total += parts[l][column];
  put(y, i, a * total);
}

__global__ void squares(View x, int64 n) {
  put_partial(n, [&](int64 i) {
    const float v = at(x, i);
    return v * v;
  });
}
__global__ void root_of_squares(View y, int blocks) {
  const float total = total_of_partials(blocks);
  if (threadIdx.x == 0) put(y, 0, sqrtf(total));
}

/// Sum of a mixed word and its place, over 8-byte words: integers, so the order does not matter.
__global__ void checksum(const unsigned char* data, int64 n, uint64* out) {
  uint64 total = 0;
  for (int64 word = first_element(); word * 8 < n; word += grid_step()) {
    uint64 bits = 0;
    for (int64 b = 0; b < 8 && word * 8 + b < n; ++b) bits |= static_cast<uint64>(data[word * 8 + b]) << (8 * b);
    total += mix(bits ^ mix(static_cast<uint64>(word)));
  }
  atomicAdd(out, total);
}

}  // extern "C"

}  // namespace vramplan::kernels
