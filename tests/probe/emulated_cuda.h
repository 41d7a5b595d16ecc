// What a kernel's source may say, on the CPU: the threads of a block take turns on stacks of their own, and change at
// barriers. One block runs at a time. For tests: kernels are executed line by line, barriers and shuffles included.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/half.h"

#define VRAMPLAN_EMULATED
#define __global__
#define __device__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

namespace emulated {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
extern Index thread, block, blocks;

/// Waits for the other threads of the block.
void sync_block();
/// True when any thread of the block says so.
bool any_of_block(bool mine);
/// What a thread shows to the others of its warp.
struct Numbers {
  float of[12];
};
/// Waits until all threads of the warp have shown theirs.
void exchange(const Numbers& mine);
/// What the thread `lane` of this warp showed.
const Numbers& brought_by(int lane);

/// mma.m16n8k16 (PTX ISA, figures of the fragments): lane 4 g + t holds rows g and g + 8 of a at 2 t, 2 t + 1 and eight
/// further; of b the column g at those depths; of d rows g and g + 8 at columns 2 t and 2 t + 1.
template <bool Bf16>
void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const auto number = [](unsigned word, int half) {
    const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
    return Bf16 ? vramplan::host::from_bf16(bits) : vramplan::host::from_fp16(bits);
  };
  Numbers mine;
  for (int i = 0; i < 12; ++i) mine.of[i] = number(i < 8 ? a[i / 2] : b[i / 2 - 4], i % 2);
  exchange(mine);
  const int lane = static_cast<int>(thread.x % 32), group = lane / 4, pair = lane % 4;
  for (int holder = 0; holder < 4; ++holder) {
    const float* left = brought_by(4 * group + holder).of;
    for (int e = 0; e < 4; ++e) {
      const float *row = left + e / 2 * 2, *column = brought_by(4 * (2 * pair + e % 2) + holder).of + 8;
      for (int far = 0; far < 2; ++far)
        for (int half = 0; half < 2; ++half) d[e] += row[4 * far + half] * column[2 * far + half];
    }
  }
}

}  // namespace emulated

inline const emulated::Index &threadIdx = emulated::thread, &blockIdx = emulated::block, &gridDim = emulated::blocks;

inline void __syncthreads() { emulated::sync_block(); }
inline int __syncthreads_or(int mine) { return emulated::any_of_block(mine != 0); }
inline float __shfl_xor_sync(unsigned, float x, int step) {
  emulated::exchange({{x}});
  return emulated::brought_by(static_cast<int>(threadIdx.x % 32) ^ step).of[0];
}
inline void atomicAdd(unsigned long long* to, unsigned long long x) { *to += x; }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
struct uint4 {
  unsigned x, y, z, w;
};
using std::min;

namespace vramplan::kernels {
using host::from_fp16;
using host::to_fp16;
}  // namespace vramplan::kernels
