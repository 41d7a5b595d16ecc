// Memory that CUDA kernels take for themselves and return before their operation ends. It is no tensor and never on
// the tape, but max_memory_allocated sees it. Sizes follow PyTorch 2.15; each function names its source. All are in
// bytes for tensors whose sizes are in elements.
#pragma once
#include <cstdint>

#include "vramplan/base/bytes.h"
#include "vramplan/tensor/device.h"

namespace vramplan {

/// Partial results and counters of a sum over `rows` of a contiguous [rows, columns] tensor of 2- or 4-byte elements,
/// which is cut across thread blocks when there are few columns (native/cuda/Reduce.cuh, setReduceConfig), and the fp32
/// sums of 16-bit inputs that 32-bit offsets do not reach. Zero where there are none.
struct ReduceScratch {
  Bytes accumulator, partial, semaphores;
};
ReduceScratch column_sum_scratch(const Device& d, std::int64_t rows, std::int64_t columns, std::int64_t item);
/// The same for a sum, mean or norm over all n elements of a contiguous tensor.
ReduceScratch whole_sum_scratch(const Device& d, std::int64_t n, std::int64_t item);

/// Into how many parts flash attention cuts the keys so that a small grid fills the card; 1 with dropout
/// (flash_attn/flash_api.cpp, num_splits_heuristic). `heads` counts those of all samples.
int flash_splits(const Device& d, std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t head_dim);
/// The head size that flash attention's fp32 buffers are padded to: for 160 it is 192, as there is no kernel of 160.
std::int64_t flash_head_dim(std::int64_t head_dim);

/// The kernel of memory-efficient attention's backward: which of those in generate_kernels.py comes first that is made
/// for the card and fits into its shared memory.
struct BackwardTile {
  std::int64_t queries = 64, keys = 64;  ///< of a tile
  bool adds_keys = false;                ///< dK and dV are added up in memory: the tile has no room for them
  bool computes_delta = false;           ///< the sums over out * dout are the kernel's own
};
BackwardTile efficient_backward_tile(const Device& d, std::int64_t head_dim, bool half, bool dropout);
/// Its workspace (mem_eff_attention/kernel_backward.h, workspace_size): lock, counter and accumulator for each tile of
/// dQ, and dK and dV, in fp32.
Bytes efficient_backward_workspace(const BackwardTile& tile, std::int64_t heads, std::int64_t queries,
                                   std::int64_t keys, std::int64_t head_dim);

/// cub::DeviceRadixSort::SortPairs of n int64 pairs with keys below `limit`.
Bytes radix_sort_scratch(const Device& d, std::int64_t n, std::int64_t limit);
/// The scans of n numbers in embedding's backward: 16 bytes for each tile and 32 more.
Bytes scan_scratch(std::int64_t n, std::int64_t tile);

}  // namespace vramplan
