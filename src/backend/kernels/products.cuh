// y = alpha * a @ b + beta * y. A block makes a tile of y; each element is summed along the depth in one order, that of
// the depth, so neither grid nor card changes a bit of it.
#pragma once
#include "backend/kernels/number.cuh"

namespace vramplan::kernels {

__device__ inline void put_product(const Product& p, int64 batch, int64 row, int64 column, float x) {
  if (row >= p.rows || column >= p.columns) return;
  const int64 i = batch * p.y.batch + row * p.y.row + column * p.y.column;
  x *= p.alpha;
  if (p.beta != 0) x += p.beta * load_real(p.y.data, p.y.type, i);
  store_real(p.y.data, p.y.type, i, x);
}

/// In fp32, any layout and any types: Side x Side of y a block, Side / 16 squared a thread.
template <int Side>
__device__ inline void product_in_fp32(const Product& p) {
  constexpr int kDepth = 16, kEach = Side / 16, kLoads = Side * kDepth / kThreads;
  __shared__ float a[kDepth][Side + 4], b[kDepth][Side + 4];
  const int thread = threadIdx.x, thread_row = thread / 16, thread_column = thread % 16;
  const int64 row0 = static_cast<int64>(blockIdx.y) * Side, column0 = static_cast<int64>(blockIdx.x) * Side;
  // Neighbouring threads read neighbouring numbers, whichever way they lie.
  const bool a_by_depth = p.a.column == 1, b_by_depth = p.b.row == 1;
  for (int64 batch = blockIdx.z; batch < p.batch; batch += gridDim.z) {
    float sums[kEach][kEach] = {};
    float next_a[kLoads], next_b[kLoads];
    const auto fetch = [&](int64 depth0) {
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
        const int i = thread + l * kThreads;
        const int64 ak = depth0 + (a_by_depth ? i % kDepth : i / Side),
                    ai = row0 + (a_by_depth ? i / kDepth : i % Side);
        const int64 bk = depth0 + (b_by_depth ? i % kDepth : i / Side),
                    bj = column0 + (b_by_depth ? i / kDepth : i % Side);
        next_a[l] = ak < p.depth && ai < p.rows
                        ? load_real(p.a.data, p.a.type, batch * p.a.batch + ai * p.a.row + ak * p.a.column)
                        : 0;
        next_b[l] = bk < p.depth && bj < p.columns
                        ? load_real(p.b.data, p.b.type, batch * p.b.batch + bk * p.b.row + bj * p.b.column)
                        : 0;
      }
    };
    fetch(0);
    for (int64 depth0 = 0; depth0 < p.depth; depth0 += kDepth) {
      __syncthreads();
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
        const int i = thread + l * kThreads;
        a[a_by_depth ? i % kDepth : i / Side][a_by_depth ? i / kDepth : i % Side] = next_a[l];
        b[b_by_depth ? i % kDepth : i / Side][b_by_depth ? i / kDepth : i % Side] = next_b[l];
      }
      __syncthreads();
      if (depth0 + kDepth < p.depth) fetch(depth0 + kDepth);
#pragma unroll 4
      for (int k = 0; k < kDepth; ++k) {
        float left[kEach], right[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) left[i] = a[k][thread_row * kEach + i];
#pragma unroll
        for (int j = 0; j < kEach; ++j) right[j] = b[k][j * 16 + thread_column];
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
          for (int j = 0; j < kEach; ++j) sums[i][j] += left[i] * right[j];
      }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        put_product(p, batch, row0 + thread_row * kEach + i, column0 + j * 16 + thread_column, sums[i][j]);
  }
}

/// d += a @ b over 16 x 8 x 16 numbers of a warp (PTX ISA, mma.m16n8k16).
template <bool Bf16>
__device__ inline void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(VRAMPLAN_EMULATED)
  emulated::multiply_add<Bf16>(d, a, b);
#elif __CUDA_ARCH__ >= 800
  if (Bf16)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/// Eight 16-bit numbers on their way from the card's memory to shared memory.
struct Eight {
  unsigned words[4];
  __device__ unsigned short half(int i) const { return static_cast<unsigned short>(words[i / 2] >> (16 * (i % 2))); }
};

/// `count` of eight numbers that lie `step` apart are there; in one read where they lie so.
__device__ inline Eight fetch_eight(const char* data, int64 first, int64 step, int64 count) {
  Eight out = {};
  if (count <= 0) return out;
  const unsigned short* from = reinterpret_cast<const unsigned short*>(data) + first;
  if (step == 1 && count >= 8 && reinterpret_cast<uint64>(from) % 16 == 0) {
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    out.words[0] = all.x, out.words[1] = all.y, out.words[2] = all.z, out.words[3] = all.w;
    return out;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < count) out.words[i / 2] |= static_cast<unsigned>(from[i * step]) << (16 * (i % 2));
  return out;
}

constexpr int kTile = 128, kTileDepth = 32, kPitch = kTileDepth + 8;  ///< the pitch keeps a warp's reads apart

/// A tile of one operand, kTile lines of kTileDepth: rows of a, or columns of b. 256 threads bring 16 numbers each.
struct TileReader {
  const char* data;
  int64 line, depth;  ///< strides
  int64 lines, deep;  ///< how many there are from the tile's start
  Eight parts[2];

  __device__ void fetch(int64 depth0) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = threadIdx.x + h * kThreads;
      if (depth == 1 || line != 1) {  // eight along the depth
        const int64 at_line = i / 4, at_depth = depth0 + i % 4 * 8;
        parts[h] = fetch_eight(data, at_line * line + at_depth * depth, depth, at_line < lines ? deep - at_depth : 0);
      } else {
        const int64 at_depth = depth0 + i / 16, at_line = i % 16 * 8;
        parts[h] = fetch_eight(data, at_line * line + at_depth * depth, line, at_depth < deep ? lines - at_line : 0);
      }
    }
  }
  __device__ void put(unsigned short (*tile)[kPitch]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = threadIdx.x + h * kThreads;
      if (depth == 1 || line != 1) {
        unsigned* to = reinterpret_cast<unsigned*>(&tile[i / 4][i % 4 * 8]);
#pragma unroll
        for (int w = 0; w < 4; ++w) to[w] = parts[h].words[w];
      } else {
#pragma unroll
        for (int e = 0; e < 8; ++e) tile[i % 16 * 8 + e][i / 16] = parts[h].half(e);
      }
    }
  }
};

__device__ inline unsigned pair_of(const unsigned short (*tile)[kPitch], int line, int depth) {
  return *reinterpret_cast<const unsigned*>(&tile[line][depth]);
}

/// On tensor cores, both operands in bf16 or both in fp16: 128 x 128 of y a block, 64 x 32 a warp.
template <bool Bf16>
__device__ inline void product_in_16_bits(const Product& p) {
  __shared__ __align__(16) unsigned short a[kTile][kPitch], b[kTile][kPitch];
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
  const int64 row0 = static_cast<int64>(blockIdx.y) * kTile, column0 = static_cast<int64>(blockIdx.x) * kTile;
  for (int64 batch = blockIdx.z; batch < p.batch; batch += gridDim.z) {
    TileReader left{
        p.a.data + 2 * (batch * p.a.batch + row0 * p.a.row), p.a.row, p.a.column, p.rows - row0, p.depth, {}},
        right{p.b.data + 2 * (batch * p.b.batch + column0 * p.b.column),
              p.b.column,
              p.b.row,
              p.columns - column0,
              p.depth,
              {}};
    float sums[4][4][4] = {};
    const bool has_part = row0 + warp_row < p.rows && column0 + warp_column < p.columns;  // this warp, of y
    left.fetch(0);
    right.fetch(0);
    for (int64 depth0 = 0; depth0 < p.depth; depth0 += kTileDepth) {
      __syncthreads();
      left.put(a);
      right.put(b);
      __syncthreads();
      if (depth0 + kTileDepth < p.depth) {
        left.fetch(depth0 + kTileDepth);
        right.fetch(depth0 + kTileDepth);
      }
#pragma unroll
      for (int k = 0; k < kTileDepth; k += 16) {
        if (!has_part || depth0 + k >= p.depth) break;
        unsigned from_b[4][2];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          from_b[j][0] = pair_of(b, warp_column + j * 8 + group, k + 2 * lane);
          from_b[j][1] = pair_of(b, warp_column + j * 8 + group, k + 2 * lane + 8);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = warp_row + i * 16 + group;
          const unsigned from_a[4] = {pair_of(a, row, k + 2 * lane), pair_of(a, row + 8, k + 2 * lane),
                                      pair_of(a, row, k + 2 * lane + 8), pair_of(a, row + 8, k + 2 * lane + 8)};
#pragma unroll
          for (int j = 0; j < 4; ++j) multiply_add<Bf16>(sums[i][j], from_a, from_b[j]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          put_product(p, batch, row0 + warp_row + i * 16 + group + e / 2 * 8,
                      column0 + warp_column + j * 8 + lane * 2 + e % 2, sums[i][j][e]);
  }
}

extern "C" {

__global__ void __launch_bounds__(kThreads) product_small(Product p) { product_in_fp32<64>(p); }
__global__ void __launch_bounds__(kThreads) product_large(Product p) { product_in_fp32<128>(p); }
__global__ void __launch_bounds__(kThreads) product_bf16(Product p) { product_in_16_bits<true>(p); }
__global__ void __launch_bounds__(kThreads) product_fp16(Product p) { product_in_16_bits<false>(p); }

}  // extern "C"

}  // namespace vramplan::kernels
