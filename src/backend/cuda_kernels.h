// The kernels of backend/kernels on one card: from the fat binary that was compiled in, or from their text by NVRTC.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/cuda_driver.h"

namespace vramplan {

/// What was compiled in: a fat binary where the build had a CUDA toolkit, else the text.
struct EmbeddedKernels {
  std::string_view image;
  bool compiled;
};
EmbeddedKernels embedded_kernels();
/// Also where there is a fat binary.
std::string_view kernels_text();

/// A cubin of the text for sm_`capability`. Throws UserError without libnvrtc.so, or with its log when it refuses.
std::string compile_kernels(std::string_view text, int capability);

class CudaKernels {
 public:
  /// Of the device that the driver has entered; the driver must outlive this. Throws UserError.
  explicit CudaKernels(CudaDriver& driver);
  ~CudaKernels() { driver_.unload(module_); }
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  static constexpr unsigned kThreads = 256;  ///< of every block

  /// The arguments must have exactly the kernel's types.
  template <class... Arguments>
  void run(const char* kernel, const CudaDriver::Grid& grid, Arguments... arguments) {
    void* parameters[] = {&arguments...};
    driver_.launch(function(kernel), grid, kThreads, parameters);
  }
  /// Over n elements, in turns where there are very many; `first` is the kernel's argument before n.
  template <class First, class... Arguments>
  void each(const char* kernel, std::int64_t n, First first, Arguments... arguments) {
    if (n > 0) run(kernel, grid_of(n), first, static_cast<long long>(n), arguments...);
  }
  static CudaDriver::Grid grid_of(std::int64_t n) {
    constexpr std::int64_t kMost = 1 << 16;
    return {static_cast<unsigned>(std::min(kMost, (n + kThreads - 1) / kThreads))};
  }
  int capability() const { return capability_; }

 private:
  CudaDriver::Function function(const char* name);

  CudaDriver& driver_;
  int capability_;
  CudaDriver::Module module_;
  std::unordered_map<std::string_view, CudaDriver::Function> functions_;  ///< by names that are literals
};

}  // namespace vramplan
