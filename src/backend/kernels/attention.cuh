// Attention in tiles of 32 queries and 32 keys: scores never leave the block, only their log-sum-exp is kept (Dao 2023,
// arXiv 2307.08691). Backward is two kernels, by key for dk and dv and by query for dq, so that nothing is added by
// more than one block. Arithmetic is fp32; a block has 32 rows of eight threads.
#pragma once
#include "backend/kernels/number.cuh"

namespace vramplan::kernels {

constexpr int kSide = 32, kOfRow = kThreads / kSide, kMine = kSide / kOfRow;  ///< threads of a row; columns of a thread
__device__ inline float minus_infinity() { return __uint_as_float(0xff800000U); }

using Square = float[kSide][kSide + 1];

/// This thread's row of a tile, and its place among the threads of that row.
struct Seat {
  int row = threadIdx.x / kOfRow, lane = threadIdx.x % kOfRow;
  __device__ int column(int i) const { return lane + i * kOfRow; }
};

/// Over the threads of one row.
template <class How>
__device__ inline float over_seats(float x) {
#pragma unroll
  for (int step = kOfRow / 2; step > 0; step /= 2) x = How::join(x, __shfl_xor_sync(0xffffffff, x, step));
  return x;
}

/// Rows row0 .. and columns column0 .. of one head into shared memory; zero where there are none.
__device__ inline void read_square(Square& to, const Heads& h, int batch, int head, int row0, int rows, int column0,
                                   int columns) {
  const Seat seat;
  const int64 base = batch * h.batch + head * h.head + (row0 + seat.row) * h.row;
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    const int c = column0 + seat.column(i);
    to[seat.row][seat.column(i)] =
        row0 + seat.row < rows && c < columns ? load_real(h.data, h.type, base + c * h.column) : 0;
  }
}

/// sums[i] += left[row] . right[column i] over 32 numbers.
__device__ inline void multiply_rows(float (&sums)[kMine], const Square& left, const Square& right) {
  const Seat seat;
#pragma unroll 8
  for (int e = 0; e < kSide; ++e)
#pragma unroll
    for (int i = 0; i < kMine; ++i) sums[i] += left[seat.row][e] * right[seat.column(i)][e];
}
/// sums[i] += left[row] . right[:, column i] over 32 numbers.
__device__ inline void multiply(float* sums, const Square& left, const Square& right) {
  const Seat seat;
#pragma unroll 8
  for (int e = 0; e < kSide; ++e)
#pragma unroll
    for (int i = 0; i < kMine; ++i) sums[i] += left[seat.row][e] * right[e][seat.column(i)];
}

/// Where a tile of 32 rows lies: of one head, from row `first` of `rows`.
struct Tile {
  const Heads& of;
  int batch, head, first, rows;
};
/// sums[i] = row of a . row of b (column i), over all `width` numbers of both. `left` and `right` are for passing
/// through.
__device__ inline void multiply_tiles(float (&sums)[kMine], Square& left, Square& right, const Tile& a, const Tile& b,
                                      int width) {
  for (int c = 0; c < width; c += kSide) {
    __syncthreads();
    read_square(left, a.of, a.batch, a.head, a.first, a.rows, c, width);
    read_square(right, b.of, b.batch, b.head, b.first, b.rows, c, width);
    __syncthreads();
    multiply_rows(sums, left, right);
  }
}
/// sums[all columns] += left[row] . rows of b.
template <int Width>
__device__ inline void add_rows(float (&sums)[Width / kOfRow], const Square& left, Square& right, const Tile& b,
                                int width) {
#pragma unroll
  for (int c = 0; c < Width; c += kSide) {
    if (c >= width) break;
    __syncthreads();
    read_square(right, b.of, b.batch, b.head, b.first, b.rows, c, width);
    __syncthreads();
    multiply(sums + c / kOfRow, left, right);
  }
}

__device__ inline bool seen(const Attention& a, int query, int key) {
  return query < a.s && key < a.t && (!a.causal || key <= query);
}
__device__ inline float score(const Attention& a, int batch, int head, int query, int key, float product) {
  if (!seen(a, query, key)) return minus_infinity();
  const float x = product * a.scale;
  if (!a.bias.data) return x;
  return x + load_real(a.bias.data, a.bias.type,
                       batch * a.bias.batch + head * a.bias.head + query * a.bias.row + key * a.bias.column);
}
/// What dropout leaves of a probability: 0, or 1 / (1 - p).
__device__ inline float share_left(const Attention& a, int batch, int head, int query, int key) {
  if (!a.drops) return 1;
  return kept(a.draw, ((static_cast<int64>(batch) * a.heads + head) * a.s + query) * a.t + key) ? a.factor : 0;
}

/// The 32 x Width results of a block in registers, out to a tensor.
template <int Width>
__device__ inline void write_rows(const Heads& h, int batch, int head, int row0, int rows, int columns,
                                  const float (&sums)[Width / kOfRow], float factor) {
  const Seat seat;
  if (row0 + seat.row >= rows) return;
  const int64 base = batch * h.batch + head * h.head + (row0 + seat.row) * h.row;
#pragma unroll
  for (int c = 0; c < Width; c += kSide)
#pragma unroll
    for (int i = 0; i < kMine; ++i)
      if (c + seat.column(i) < columns)
        store_real(h.data, h.type, base + (c + seat.column(i)) * h.column, sums[c / kOfRow + i] * factor);
}

template <int Width>
__device__ inline void attend(const Attention& a) {
  __shared__ Square left, right;
  const Seat seat;
  const int query0 = blockIdx.x * kSide, head = blockIdx.y, batch = blockIdx.z, kv = head / a.group;
  const int query = query0 + seat.row;
  float sums[Width / kOfRow] = {}, top = minus_infinity(), total = 0;
  const int last = a.causal ? min(a.t, query0 + kSide) : a.t;
  for (int key0 = 0; key0 < last; key0 += kSide) {
    float p[kMine] = {};
    multiply_tiles(p, left, right, {a.q, batch, head, query0, a.s}, {a.k, batch, kv, key0, a.t}, a.d);
    float highest = top;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      p[i] = score(a, batch, head, query, key0 + seat.column(i), p[i]);
      highest = fmaxf(highest, p[i]);
    }
    highest = over_seats<Largest>(highest);
    // A row that has seen nothing so far stays at nothing.
    const float shrink = top == minus_infinity() ? 0 : expf(top - highest);
    float here = 0;
    __syncthreads();  // left has been read
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const float e = p[i] == minus_infinity() ? 0 : expf(p[i] - highest);
      here += e;
      left[seat.row][seat.column(i)] = e * share_left(a, batch, head, query, key0 + seat.column(i));
    }
    total = total * shrink + over_seats<Sum>(here);
    top = highest;
#pragma unroll
    for (int i = 0; i < Width / kOfRow; ++i) sums[i] *= shrink;
    add_rows<Width>(sums, left, right, {a.v, batch, kv, key0, a.t}, a.dv_width);
  }
  write_rows<Width>(a.out, batch, head, query0, a.s, a.dv_width, sums, 1 / total);
  if (a.lse && seat.lane == 0 && query < a.s)
    a.lse[(static_cast<int64>(batch) * a.heads + head) * a.lse_rows + query] = top + logf(total);
}

/// dout . out of this thread's query, the same in all threads of its row.
__device__ inline float along_of(const Attention& a, int batch, int head, int query) {
  const Seat seat;
  float x = 0;
  if (query < a.s)
    for (int c = seat.lane; c < a.dv_width; c += kOfRow)
      x += load_real(a.dout.data, a.dout.type,
                     batch * a.dout.batch + head * a.dout.head + query * a.dout.row + c * a.dout.column) *
           load_real(a.out.data, a.out.type,
                     batch * a.out.batch + head * a.out.head + query * a.out.row + c * a.out.column);
  return over_seats<Sum>(x);
}
__device__ inline float log_sum(const Attention& a, int batch, int head, int query) {
  return query < a.s ? a.lse[(static_cast<int64>(batch) * a.heads + head) * a.lse_rows + query] : 0;
}

template <int Width>
__device__ inline void attend_backward_query(const Attention& a) {
  __shared__ Square left, right;
  const Seat seat;
  const int query0 = blockIdx.x * kSide, head = blockIdx.y, batch = blockIdx.z, kv = head / a.group;
  const int query = query0 + seat.row;
  const float along = along_of(a, batch, head, query), sum = log_sum(a, batch, head, query);
  float to_q[Width / kOfRow] = {};
  const int last = a.causal ? min(a.t, query0 + kSide) : a.t;
  for (int key0 = 0; key0 < last; key0 += kSide) {
    float p[kMine] = {}, dp[kMine] = {};
    const Tile keys{a.k, batch, kv, key0, a.t};
    multiply_tiles(p, left, right, {a.q, batch, head, query0, a.s}, keys, a.d);
    multiply_tiles(dp, left, right, {a.dout, batch, head, query0, a.s}, {a.v, batch, kv, key0, a.t}, a.dv_width);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const int key = key0 + seat.column(i);
      const float x = score(a, batch, head, query, key, p[i]);
      const float share = x == minus_infinity() ? 0 : expf(x - sum);
      left[seat.row][seat.column(i)] = share * (dp[i] * share_left(a, batch, head, query, key) - along);
    }
    add_rows<Width>(to_q, left, right, keys, a.d);
  }
  write_rows<Width>(a.dq, batch, head, query0, a.s, a.d, to_q, a.scale);
}

/// Rows are keys here and columns queries. A block goes through all query heads of its kv head, one after the other.
template <int Width>
__device__ inline void attend_backward_key(const Attention& a) {
  __shared__ Square left, right, probabilities;
  __shared__ float alongs[kSide], sums[kSide];
  const Seat seat;
  const int key0 = blockIdx.x * kSide, kv = blockIdx.y, batch = blockIdx.z, key = key0 + seat.row;
  float to_k[Width / kOfRow] = {}, to_v[Width / kOfRow] = {};
  for (int head = kv * a.group; head < (kv + 1) * a.group; ++head)
    for (int query0 = a.causal ? key0 : 0; query0 < a.s; query0 += kSide) {
      __syncthreads();
      const float along = along_of(a, batch, head, query0 + seat.row);
      if (seat.lane == 0) {
        alongs[seat.row] = along;
        sums[seat.row] = log_sum(a, batch, head, query0 + seat.row);
      }
      float p[kMine] = {}, dp[kMine] = {};
      const Tile queries{a.q, batch, head, query0, a.s}, gradients{a.dout, batch, head, query0, a.s};
      multiply_tiles(p, left, right, {a.k, batch, kv, key0, a.t}, queries, a.d);
      multiply_tiles(dp, left, right, {a.v, batch, kv, key0, a.t}, gradients, a.dv_width);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const int column = seat.column(i), query = query0 + column;
        const float x = score(a, batch, head, query, key, p[i]), share_kept = share_left(a, batch, head, query, key);
        const float share = x == minus_infinity() ? 0 : expf(x - sums[column]);
        probabilities[seat.row][column] = share * share_kept;
        left[seat.row][column] = share * (dp[i] * share_kept - alongs[column]);
      }
      add_rows<Width>(to_v, probabilities, right, gradients, a.dv_width);
      add_rows<Width>(to_k, left, right, queries, a.d);
    }
  write_rows<Width>(a.dk, batch, kv, key0, a.t, a.d, to_k, a.scale);
  write_rows<Width>(a.dv, batch, kv, key0, a.t, a.dv_width, to_v, 1);
}

extern "C" {

__global__ void __launch_bounds__(kThreads, 1) attention_64(Attention a) { attend<64>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_128(Attention a) { attend<128>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_256(Attention a) { attend<256>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_query_64(Attention a) { attend_backward_query<64>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_query_128(Attention a) { attend_backward_query<128>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_query_256(Attention a) { attend_backward_query<256>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_key_64(Attention a) { attend_backward_key<64>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_key_128(Attention a) { attend_backward_key<128>(a); }
__global__ void __launch_bounds__(kThreads, 1) attention_key_256(Attention a) { attend_backward_key<256>(a); }

}  // extern "C"

}  // namespace vramplan::kernels
