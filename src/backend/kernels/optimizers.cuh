// Optimizer steps, an element of the parameter a thread; states in 8 bits by blocks of 256 numbers, one a block.
#pragma once
#include "backend/kernels/reductions.cuh"

namespace vramplan::kernels {

/// The new weight; m and v are updated.
__device__ inline float adam_step(const Adam& p, float w, float g, float& m, float& v) {
  if (p.decoupled)
    w *= 1 - p.lr * p.decay;
  else
    g += p.decay * w;
  m = p.beta1 * m + (1 - p.beta1) * g;
  v = p.beta2 * v + (1 - p.beta2) * g * g;
  return w - p.lr * (m / p.correction1) / (sqrtf(v / p.correction2) + p.eps);
}
__device__ inline float lion_step(const Adam& p, float w, float g, float& m) {
  const float direction = p.beta1 * m + (1 - p.beta1) * g;
  w *= 1 - p.lr * p.decay;
  m = p.beta2 * m + (1 - p.beta2) * g;
  return direction == 0 ? w : w - copysignf(p.lr, direction);
}

/// A number of 8 bits: square root of the share of the block's largest, signed.
__device__ inline float decoded(signed char code, float scale) {
  const float share = static_cast<float>(code) / 127;
  return copysignf(share * share, share) * scale;
}
/// By all threads of the block that has these 256 numbers.
__device__ inline void encode(signed char* codes, float* scales, int64 i, int64 n, float x) {
  const float scale = over_block<Largest>(i < n ? fabsf(x) : 0);
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  if (i < n) codes[i] = static_cast<signed char>(scale > 0 ? roundf(copysignf(sqrtf(fabsf(x) / scale), x) * 127) : 0);
}

extern "C" {

__global__ void adam(View w, int64 n, View g, View m, View v, Adam p) {
  for (int64 i = first_element(); i < n; i += grid_step()) {
    float first = at(m, i), second = at(v, i);
    put(w, i, adam_step(p, at(w, i), at(g, i), first, second));
    put(m, i, first);
    put(v, i, second);
  }
}

__global__ void lion(View w, int64 n, View g, View m, Adam p) {
  for (int64 i = first_element(); i < n; i += grid_step()) {
    float state = at(m, i);
    put(w, i, lion_step(p, at(w, i), at(g, i), state));
    put(m, i, state);
  }
}

__global__ void adam_blockwise(View w, int64 n, View g, signed char* m, float* m_scales, signed char* v,
                               float* v_scales, Adam p) {
  const int64 i = first_element();
  float first = 0, second = 0;
  if (i < n) {
    first = decoded(m[i], m_scales[blockIdx.x]);
    second = decoded(v[i], v_scales[blockIdx.x]);
    put(w, i, adam_step(p, at(w, i), at(g, i), first, second));
  }
  encode(m, m_scales, i, n, first);
  encode(v, v_scales, i, n, second);
}

__global__ void lion_blockwise(View w, int64 n, View g, signed char* m, float* m_scales, Adam p) {
  const int64 i = first_element();
  float state = 0;
  if (i < n) {
    state = decoded(m[i], m_scales[blockIdx.x]);
    put(w, i, lion_step(p, at(w, i), at(g, i), state));
  }
  encode(m, m_scales, i, n, state);
}

// Adafactor (Shazeer and Stern 2018), in the order of the host's: states, then the size of weight and update, then the
// weight.

/// A row's state, a block each.
__global__ void adafactor_rows(View row, View g, int64 columns, float share) {
  float sum = 0;
  for (int64 i = threadIdx.x; i < columns; i += kThreads) {
    const float x = at(g, blockIdx.x * columns + i);
    sum += x * x;
  }
  sum = over_block<Sum>(sum);
  if (threadIdx.x == 0)
    put(row, blockIdx.x, at(row, blockIdx.x) * (1 - share) + sum / static_cast<float>(columns) * share);
}
__global__ void adafactor_columns(View column, int64 columns, View g, int64 rows, float share) {
  for (int64 i = first_element(); i < columns; i += grid_step()) {
    float sum = 0;
    for (int64 r = 0; r < rows; ++r) {
      const float x = at(g, r * columns + i);
      sum += x * x;
    }
    put(column, i, at(column, i) * (1 - share) + sum / static_cast<float>(rows) * share);
  }
}
__global__ void adafactor_elements(View variance, int64 n, View g, float share) {
  for (int64 i = first_element(); i < n; i += grid_step()) {
    const float x = at(g, i);
    put(variance, i, at(variance, i) * (1 - share) + x * x * share);
  }
}

__device__ float totals[kTotals];

__global__ void adafactor_keep(int which, int64 n, int blocks, int root) {
  const float mean = total_of_partials(blocks) / static_cast<float>(n);
  if (threadIdx.x == 0) totals[which] = root ? sqrtf(mean) : mean;
}
__global__ void plain_sum(View x, int64 n) {
  put_partial(n, [&](int64 i) { return at(x, i); });
}

constexpr float kAdafactorEps = 1.1920929e-7F;

}  // extern "C"

/// A matrix uses row and column, anything else `variance`.
__device__ inline float adafactor_update(float g, int64 i, const View& row, const View& column, const View& variance,
                                         int64 columns) {
  const float estimate = row.data
                             ? at(row, i / columns) * at(column, i % columns) / fmaxf(totals[kRowMean], kAdafactorEps)
                             : at(variance, i);
  return g / sqrtf(fmaxf(estimate, kAdafactorEps * kAdafactorEps));
}

extern "C" {

__global__ void adafactor_update_squares(View g, int64 n, View row, View column, View variance, int64 columns) {
  put_partial(n, [&](int64 i) {
    const float u = adafactor_update(at(g, i), i, row, column, variance, columns);
    return u * u;
  });
}
__global__ void adafactor_apply(View w, int64 n, View g, View row, View column, View variance, int64 columns,
                                float decayed, float step) {
  const float alpha = fmaxf(1e-3F, totals[kWeightSize]) * step / fmaxf(1, totals[kUpdateSize]);
  for (int64 i = first_element(); i < n; i += grid_step())
    put(w, i, at(w, i) * decayed - alpha * adafactor_update(at(g, i), i, row, column, variance, columns));
}

}  // extern "C"

}  // namespace vramplan::kernels
