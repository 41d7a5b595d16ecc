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
  using Module = void*;
  using Function = void*;
  /// A fat binary, a cubin or the text of PTX. Throws UserError when the driver does not take it.
  Module load_module(const char* image);
  void unload(Module module) const;
  /// Throws UserError when it has no kernel of this name.
  Function function(Module module, const char* name) const;
  struct Grid {
    unsigned x = 1, y = 1, z = 1;
  };
  /// On the default stream; `parameters` points to each.
  void launch(Function kernel, const Grid& grid, unsigned threads, void** parameters) const;
  /// Waits for all work. Throws UserError where a kernel failed.
  void synchronise() const;

  std::string name() const;        ///< of the device that was entered: "NVIDIA H100 PCIe"
  int compute_capability() const;  ///< 90 for 9.0

  struct Memory {
    Bytes free, total;
  };
  Memory memory() const;
  /// Nothing: out of memory.
  std::optional<std::uint64_t> allocate(Bytes size);
  void release(std::uint64_t address);
  void download(void* to, std::uint64_t from, std::size_t bytes) const;
  void upload(std::uint64_t to, const void* from, std::size_t bytes) const;

 private:
  struct Calls;
  std::unique_ptr<Calls> calls_;
  int device_ = -1;
};

/// What a status of the driver means, and what to do.
std::string cuda_status(int code);

}  // namespace vramplan
