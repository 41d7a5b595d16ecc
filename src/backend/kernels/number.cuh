// Numbers in storage and random draws, as backend/host_number.h has them; sums over a block in a fixed order.
#pragma once
#include "backend/kernels/view.h"

namespace vramplan::kernels {

using int64 = long long;
using uint64 = unsigned long long;

constexpr int kThreads = 256;  ///< of a block, for all kernels

__device__ inline float from_bf16(unsigned short h) { return __uint_as_float(static_cast<unsigned>(h) << 16); }
/// Round to nearest, ties to even.
__device__ inline unsigned short to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return 0x7fc0;
  return static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#ifndef VRAMPLAN_EMULATED
__device__ inline float from_fp16(unsigned short h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
__device__ inline unsigned short to_fp16(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
#endif

__device__ inline float load(const char* data, int type, int64 i) {
  switch (type) {
    case kFp16: return from_fp16(reinterpret_cast<const unsigned short*>(data)[i]);
    case kBf16: return from_bf16(reinterpret_cast<const unsigned short*>(data)[i]);
    case kInt8: return static_cast<float>(reinterpret_cast<const signed char*>(data)[i]);
    case kInt64: return static_cast<float>(reinterpret_cast<const int64*>(data)[i]);
    case kBoolean: return static_cast<float>(reinterpret_cast<const unsigned char*>(data)[i]);
    default: return reinterpret_cast<const float*>(data)[i];
  }
}

__device__ inline void store(char* data, int type, int64 i, float x) {
  switch (type) {
    case kFp16: reinterpret_cast<unsigned short*>(data)[i] = to_fp16(x); return;
    case kBf16: reinterpret_cast<unsigned short*>(data)[i] = to_bf16(x); return;
    case kInt8:  // the low byte: a counter makes every code
      reinterpret_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(static_cast<int64>(x) & 255);
      return;
    case kInt64: reinterpret_cast<int64*>(data)[i] = static_cast<int64>(x); return;
    case kBoolean: reinterpret_cast<unsigned char*>(data)[i] = x != 0; return;
    default: reinterpret_cast<float*>(data)[i] = x;
  }
}

/// Of tensors that are fp32, bf16 or fp16: fewer ways than `load` and `store`, where code stands many times over.
__device__ inline float load_real(const char* data, int type, int64 i) {
  if (type <= kTf32) return reinterpret_cast<const float*>(data)[i];
  const unsigned short h = reinterpret_cast<const unsigned short*>(data)[i];
  return type == kBf16 ? from_bf16(h) : from_fp16(h);
}
__device__ inline void store_real(char* data, int type, int64 i, float x) {
  if (type <= kTf32)
    reinterpret_cast<float*>(data)[i] = x;
  else
    reinterpret_cast<unsigned short*>(data)[i] = type == kBf16 ? to_bf16(x) : to_fp16(x);
}

template <class Int>
__device__ inline int64 place_in(const View& v, Int i) {
  int64 p = 0;
#pragma unroll
  for (int d = kMaxRank - 1; d > 0; --d)
    if (d < v.rank) {
      const Int size = static_cast<Int>(v.size[d]), above = i / size;
      p += static_cast<int64>(i - above * size) * v.stride[d];
      i = above;
    }
  return p + static_cast<int64>(i) * v.stride[0];
}

/// Where element i lies, in elements.
__device__ inline int64 place(const View& v, int64 i) {
  if (v.rank <= 1) return i * v.stride[0];
  return v.narrow ? place_in(v, static_cast<unsigned>(i)) : place_in(v, i);
}

__device__ inline float any_at(const View& v, int64 i) { return load(v.data, v.type, place(v, i)); }
__device__ inline void put_any(const View& v, int64 i, float x) { store(v.data, v.type, place(v, i), x); }
__device__ inline float at(const View& v, int64 i) { return load_real(v.data, v.type, place(v, i)); }
__device__ inline void put(const View& v, int64 i, float x) { store_real(v.data, v.type, place(v, i), x); }

/// One row of a view: its first element is found once.
struct Row {
  char* data;
  int type;
  int64 first, stride;
  __device__ Row(const View& v, int64 row, int64 width)
      : data(v.data), type(v.type), first(place(v, row * width)), stride(v.stride[v.rank > 0 ? v.rank - 1 : 0]) {}
  __device__ float operator[](int64 i) const { return load_real(data, type, first + i * stride); }
  __device__ void set(int64 i, float x) const { store_real(data, type, first + i * stride, x); }
};

__device__ inline uint64 mix(uint64 z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
/// 53 random bits of element i.
__device__ inline uint64 random_bits(uint64 seed, uint64 call, uint64 i) {
  return mix(mix(mix(seed) + call) + i) >> 11;
}
__device__ inline bool kept(const Draw& d, int64 i) {
  return random_bits(d.seed, d.call, static_cast<uint64>(i)) >= d.threshold;
}

struct Sum {
  static constexpr float kNone = 0;
  __device__ static float join(float a, float b) { return a + b; }
};
struct Largest {
  static constexpr float kNone = -3.402823466e38F;
  __device__ static float join(float a, float b) { return a > b ? a : b; }
};

/// Over all threads of the block, which all must call it; every thread gets the same bits.
template <class How>
__device__ inline float over_block(float x) {
  __shared__ float parts[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) x = How::join(x, __shfl_xor_sync(0xffffffff, x, step));
  __syncthreads();  // the parts of the call before have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  float total = How::kNone;
  for (int i = 0; i < kThreads / 32; ++i) total = How::join(total, parts[i]);
  return total;
}

__device__ inline int64 first_element() { return static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x; }
__device__ inline int64 grid_step() { return static_cast<int64>(gridDim.x) * kThreads; }

}  // namespace vramplan::kernels
