#include "tape/kernel_scratch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace vramplan {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t step) { return divide_up(a, step) * step; }

Bytes bytes(std::initializer_list<std::int64_t> factors) {
  Bytes b(1);
  for (std::int64_t f : factors) b *= static_cast<std::uint64_t>(f);
  return b;
}

constexpr std::int64_t kAlign = 256;  // of the parts of cub's temporary storage

}  // namespace

ReduceScratch column_sum_scratch(const Device& d, std::int64_t rows, std::int64_t columns, std::int64_t item) {
  constexpr std::int64_t kMaxThreads = 512, kWarp = 32, kFew = 16, kMany = 256, kAccumulator = 4;
  ReduceScratch out;
  while (rows > 1 && rows > std::numeric_limits<std::int32_t>::max() / (columns * item)) {
    rows = divide_up(rows, 2);
    if (item == 2) out.accumulator = bytes({kAccumulator, columns});
  }
  std::int64_t vector = 4;
  while (columns % vector != 0) vector /= 2;
  const std::int64_t threads = kMaxThreads / vector;
  auto power = [&](std::int64_t n) {
    return n < threads ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))) : threads;
  };
  const std::int64_t wide = power(columns / vector), tall = power(rows);
  std::int64_t width = std::min(wide, kWarp);
  const std::int64_t height = std::min(tall, threads / width);
  width = std::min(wide, threads / height);
  if (rows < std::min(height * kFew, kMany)) return out;  // each warp takes columns of its own
  const std::int64_t each = divide_up(rows, height), grid = divide_up(columns / vector, width);
  const std::int64_t target = d.multiprocessors * (d.threads_per_multiprocessor() / (width * height));
  if (each < kMany || grid > target) return out;
  const std::int64_t blocks = std::clamp(divide_up(target, grid), divide_up(each, kMany), divide_up(each, kFew));
  if (blocks <= 1) return out;
  out.partial = bytes({kAccumulator, columns, blocks, width, vector});
  out.semaphores = bytes({4, grid});
  return out;
}

ReduceScratch whole_sum_scratch(const Device& d, std::int64_t n, std::int64_t item) {
  constexpr std::int64_t kThreads = 512, kFew = 16, kMany = 256, kAccumulator = 4;
  ReduceScratch out;
  while (n > std::numeric_limits<std::int32_t>::max() / item) {
    n = divide_up(n, 2);
    if (item == 2) out.accumulator = bytes({kAccumulator});
  }
  const std::int64_t each = divide_up(n, kThreads);
  if (each < kMany) return out;
  const std::int64_t target = d.multiprocessors * (d.threads_per_multiprocessor() / kThreads);
  const std::int64_t blocks = std::max(std::min(target, divide_up(each, kFew)), divide_up(each, kMany));
  out.partial = bytes({kAccumulator, blocks});
  out.semaphores = bytes({4});
  return out;
}

int flash_splits(const Device& d, std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t head_dim) {
  const std::int64_t block = head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64;
  const auto key_blocks = static_cast<int>(divide_up(keys, block));
  const int places = 2 * d.multiprocessors;
  const auto work = static_cast<float>(heads * divide_up(queries, 64));
  if (work >= 0.8f * static_cast<float>(places)) return 1;
  const int most = std::min({128, places, key_blocks});
  auto differs = [&](int n) { return n == 1 || divide_up(key_blocks, n) != divide_up(key_blocks, n - 1); };
  auto efficiency = [&](int n) {
    const float waves = work * static_cast<float>(n) / static_cast<float>(places);
    return waves / std::ceil(waves);
  };
  float best = 0;
  for (int n = 1; n <= most; ++n)
    if (differs(n)) best = std::max(best, efficiency(n));
  for (int n = 1; n <= most; ++n)
    if (differs(n) && efficiency(n) >= 0.85f * best) return n;
  return 1;
}

std::int64_t flash_head_dim(std::int64_t head_dim) { return round_up(head_dim, head_dim <= 128 ? 32 : 64); }

BackwardTile efficient_backward_tile(const Device& d, std::int64_t head_dim, bool half, bool dropout) {
  const int sm = d.compute_capability;
  BackwardTile tile;
  tile.computes_delta = half && (sm != 70 || head_dim <= 128);
  if (head_dim <= 64) return tile;
  const bool roomy = d.shared_memory() >= 163 * 1024;
  if (!half) {
    tile.queries = sm >= 80 && roomy ? 128 : 64;
  } else if (head_dim > 128) {
    tile.queries = 128;
    tile.adds_keys = true;
  } else if (sm < 80 || roomy) {
    tile.queries = 128;
    tile.keys = sm >= 80 ? 128 : 64;
  } else if ((sm == 86 || sm == 89) && head_dim <= 96 && !dropout) {
    tile.queries = 128;  // made for Stable Diffusion's heads of 80
  } else {
    tile.adds_keys = true;
  }
  return tile;
}

Bytes efficient_backward_workspace(const BackwardTile& tile, std::int64_t heads, std::int64_t queries,
                                   std::int64_t keys, std::int64_t head_dim) {
  std::int64_t numbers =
      divide_up(queries, tile.queries) * divide_up(head_dim, tile.keys) * (tile.queries * tile.keys + 4);
  if (tile.adds_keys) numbers += 2 * round_up(keys, tile.keys) * round_up(head_dim, tile.queries);
  return bytes({4, heads, round_up(numbers, 4)});
}

Bytes radix_sort_scratch(const Device& d, std::int64_t n, std::int64_t limit) {
  constexpr std::int64_t kBits = 8, kBins = 256;
  const std::int64_t tile = d.compute_capability >= 90 ? 4608 : 3840;
  const auto bits =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(limit - 1, 1))));
  const std::int64_t passes = divide_up(bits, kBits);
  const std::int64_t histograms = passes * kBins * 8, look_back = divide_up(n, tile) * kBins * 4;
  const std::int64_t second_copy = passes > 1 ? 2 * round_up(8 * n, kAlign) : 0;
  return Bytes(static_cast<std::uint64_t>(histograms + kAlign + look_back + second_copy + kAlign - 1));
}

Bytes scan_scratch(std::int64_t n, std::int64_t tile) {
  return Bytes(static_cast<std::uint64_t>(kAlign + round_up(16 * (32 + divide_up(n, tile)), kAlign) + kAlign - 1));
}

}  // namespace vramplan
