// Words that the files of the virtual GPU share: result codes, handles, and the structures that cross the boundary to
// CUDA's callers, written by offset because no CUDA header is needed to build this. The libraries of CUDA 12 and 13
// have the same calls but for a few structures; where they differ, the name that is called tells which is meant.
//
// What this folder does: a preloaded library answers the CUDA runtime, driver, management, BLAS, DNN and collective
// calls of an unmodified PyTorch. Device memory is counted, not kept; kernels are not run; what is read back is zero.
// It includes nothing of the other floors.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define VGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace virtualgpu {

/// Runtime (cudaError) and driver (CUresult) agree on these.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kNoKernelImage = 209,
  kNotFound = 500,
  kNotSupported = 801,
};

using Handle = void*;      ///< stream, event, graph, module, function, pool
using Address = uint64_t;  ///< CUdeviceptr

/// Handles must differ: PyTorch keeps a workspace for each stream and BLAS handle. Nobody looks behind one.
inline Handle new_handle() {
  static std::atomic<uintptr_t> next{uintptr_t{1} << 32};
  return reinterpret_cast<Handle>(next += 64);
}

template <class T>
void put(void* base, size_t offset, T value) {
  std::memcpy(static_cast<char*>(base) + offset, &value, sizeof value);
}

}  // namespace virtualgpu
