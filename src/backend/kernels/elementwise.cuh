// One element of the result a thread and turn.
#pragma once
#include "backend/kernels/number.cuh"
#include "tensor/operation.h"

namespace vramplan::kernels {

__device__ inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

constexpr float kHalfRoot = 0.70710678118654752F, kRootOfTwoOverPi = 0.7978845608028654F, kCubic = 0.044715F;
__device__ inline float normal_share(float x) { return 0.5F * (1 + erff(x * kHalfRoot)); }
__device__ inline float tanh_of_cubic(float x) { return tanhf(kRootOfTwoOverPi * (x + kCubic * x * x * x)); }

__device__ inline float apply(Unary op, float x, float a) {
  switch (op) {
    case Unary::copy: return x;
    case Unary::neg: return -x;
    case Unary::scale: return x * a;
    case Unary::add: return x + a;
    case Unary::pow: return a == 2 ? x * x : powf(x, a);
    case Unary::exponential: return powf(a, x);
    case Unary::sqrt: return sqrtf(x);
    case Unary::rsqrt: return 1 / sqrtf(x);
    case Unary::tanh: return tanhf(x);
    case Unary::sin: return sinf(x);
    case Unary::cos: return cosf(x);
    case Unary::silu: return x * sigmoid(x);
    case Unary::gelu: return x * normal_share(x);
    case Unary::gelu_tanh: return 0.5F * x * (1 + tanh_of_cubic(x));
    case Unary::relu: return x > 0 ? x : 0;
    case Unary::mask_to_bias: return x != 0 ? 0 : a;
    case Unary::logical_not: return x != 0 ? 0.0F : 1.0F;
    case Unary::sigmoid: return sigmoid(x);
    case Unary::log_sigmoid: return fminf(x, 0) - log1pf(expf(-fabsf(x)));
  }
  return 0;
}

__device__ inline float apply(Binary op, float a, float b) {
  switch (op) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: return a / b;
    case Binary::less_equal: return a <= b ? 1.0F : 0.0F;
    case Binary::greater: return a > b ? 1.0F : 0.0F;
    case Binary::logical_and: return a != 0 && b != 0 ? 1.0F : 0.0F;
    case Binary::tanh_backward: return a * (1 - b * b);
    case Binary::silu_backward: {
      const float s = sigmoid(b);
      return a * s * (1 + b * (1 - s));
    }
    case Binary::gelu_backward: return a * (normal_share(b) + b * expf(-0.5F * b * b) * (0.5F * kRootOfTwoOverPi));
    case Binary::gelu_tanh_backward: {
      const float t = tanh_of_cubic(b);
      return a * (0.5F * (1 + t) + 0.5F * b * (1 - t * t) * kRootOfTwoOverPi * (1 + 3 * kCubic * b * b));
    }
    case Binary::relu_backward: return b > 0 ? a : 0;
  }
  return 0;
}

extern "C" {

__global__ void fill(View y, int64 n, float value) {
  for (int64 i = first_element(); i < n; i += grid_step()) put_any(y, i, value);
}

__global__ void arange(View y, int64 n, double start) {
  for (int64 i = first_element(); i < n; i += grid_step())
    put_any(y, i, static_cast<float>(start + static_cast<double>(i)));
}

__global__ void tokens(int64* y, int64 n, int64 vocabulary, uint64 stream) {
  for (int64 i = first_element(); i < n; i += grid_step())
    y[i] = static_cast<int64>(static_cast<double>(random_bits(stream, 0, static_cast<uint64>(i))) / 9007199254740992.0 *
                              static_cast<double>(vocabulary));
}

__global__ void tril(View y, int64 n, int64 columns) {
  for (int64 i = first_element(); i < n; i += grid_step()) put_any(y, i, i % columns <= i / columns ? 1.0F : 0.0F);
}

__global__ void unary(View y, int64 n, int op, View x, float a) {
  for (int64 i = first_element(); i < n; i += grid_step())
    put_any(y, i, apply(static_cast<Unary>(op), any_at(x, i), a));
}

__global__ void binary(View y, int64 n, int op, View a, View b) {
  for (int64 i = first_element(); i < n; i += grid_step())
    put_any(y, i, apply(static_cast<Binary>(op), any_at(a, i), any_at(b, i)));
}

__global__ void accumulate(View y, int64 n, View x, float a) {
  for (int64 i = first_element(); i < n; i += grid_step()) put_any(y, i, any_at(y, i) + a * any_at(x, i));
}

__global__ void dropout(View y, int64 n, View mask, View x, float factor, Draw draw) {
  for (int64 i = first_element(); i < n; i += grid_step()) {
    const bool keep = kept(draw, i);
    put_any(mask, i, keep ? 1.0F : 0.0F);
    put_any(y, i, keep ? any_at(x, i) * factor : 0.0F);
  }
}

/// y[n, h] = w[ids[n], h]
__global__ void embedding(View y, int64 n, Matrix w, const int64* ids, int64 width) {
  for (int64 i = first_element(); i < n; i += grid_step())
    put_any(y, i, load(w.data, w.type, ids[i / width] * w.row + i % width * w.column));
}

__global__ void gather(View y, int64 n, View x, const int64* index, int64 width) {
  for (int64 i = first_element(); i < n; i += grid_step()) put_any(y, i, any_at(x, i * width + index[i]));
}

__global__ void scatter(View dx, int64 n, View dy, const int64* index, int64 width) {
  for (int64 i = first_element(); i < n; i += grid_step()) put_any(dx, i * width + index[i], any_at(dy, i));
}

__global__ void nll_backward(View dx, int64 n, View dloss, const int64* target, View total, int64 width) {
  const float share = any_at(dloss, 0) / any_at(total, 0);
  for (int64 i = first_element(); i < n; i += grid_step())
    put_any(dx, i, target[i / width] == i % width ? -share : 0.0F);
}

__global__ void clip_coefficient(View y, View norm, float largest) {
  if (threadIdx.x == 0) put_any(y, 0, fminf(1.0F, largest / any_at(norm, 0)));
}

}  // extern "C"

}  // namespace vramplan::kernels
