// The CUDA driver, opened by name: contexts, modules and memory, by our own few prototypes of cuda.h.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "vramplan/base/bytes.h"

namespace vramplan {

class CudaDriver {
 public:
  /// Throws UserError with status 3 that names the layer that fails: no library, a stub of it, no device, mismatch.
  CudaDriver();
  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  int count() const;
  /// "GPU-00112233-4455-6677-8899-aabbccddeeff", as NVML has it.
  std::string uuid(int device) const;

  /// The device's primary context, current in this thread until it is let go. Throws UserError.
  void enter(int device);
  void leave();
  /// Throws UserError when the driver does not take it.
  void load_module(const char* text);

  struct Memory {
    Bytes free, total;
  };
  Memory memory() const;
  /// Nothing: out of memory.
  std::optional<std::uint64_t> allocate(Bytes size);
  void release(std::uint64_t address);

 private:
  struct Calls;
  std::unique_ptr<Calls> calls_;
  int device_ = -1;
};

/// What a status of the driver means, and what to do.
std::string cuda_status(int code);

}  // namespace vramplan
