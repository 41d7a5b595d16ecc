// Weights in few bits: evenly spaced codes, as the host has them.
#pragma once
#include "backend/kernels/number.cuh"

namespace vramplan::kernels {

__device__ inline float scale_of(const Stored& w, int64 block) {
  if (!w.second_scales.data) return at(w.scales, block);
  const float code = static_cast<float>(reinterpret_cast<const unsigned char*>(w.scales.data)[block]) / 255;
  return code * at(w.second_scales, block / 256) + at(w.offset, 0);
}
__device__ inline float eight_bits(const Stored& w, int64 i) {
  return static_cast<float>(static_cast<signed char>(w.codes[i])) / 127;
}

extern "C" {

__global__ void dequantise(View y, int64 n, Stored w) {
  for (int64 i = first_element(); i < n; i += grid_step()) {
    if (w.four_bits) {
      const unsigned code = (w.codes[i / 2] >> (i % 2 ? 0 : 4)) & 15U;
      put(y, i, (static_cast<float>(code) / 7.5F - 1) * scale_of(w, i / 64));
    } else {
      put(y, i, eight_bits(w, i) * scale_of(w, i / w.columns));
    }
  }
}

__global__ void product_8bit(View y, int64 n, View x, Stored w, View bias, int64 width) {
  for (int64 i = first_element(); i < n; i += grid_step()) {
    const int64 row = i / width, column = i % width;
    float sum = 0;
    for (int64 k = 0; k < w.columns; ++k) sum += at(x, row * w.columns + k) * eight_bits(w, column * w.columns + k);
    put(y, i, sum * scale_of(w, column) + (bias.data ? at(bias, column) : 0));
  }
}

}  // extern "C"

}  // namespace vramplan::kernels
