// Kernels of a program's libraries: registered as they are loaded, launched and never run. What is asked of one is
// answered by the code that the driver would have taken for the card.
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "virtualgpu/abi.h"
#include "virtualgpu/card.h"
#include "virtualgpu/errors.h"
#include "virtualgpu/fatbin.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

namespace {

int card_architecture() { return settings().major * 10 + settings().minor; }

/// Looked into when a kernel of it is first asked for: PyTorch has five hundred.
class FatBinary {
 public:
  explicit FatBinary(const void* wrapper) : wrapper_(wrapper) {}
  const std::optional<Code>& code() {
    std::call_once(once_, [this] { code_ = code_for(wrapper_, card_architecture()); });
    return code_;
  }

 private:
  const void* wrapper_;
  std::once_flag once_;
  std::optional<Code> code_;
};

class Kernels {
 public:
  /// Outlives every library that takes its kernels back at the end.
  static Kernels& instance() {
    static Kernels* const all = new Kernels;
    return *all;
  }
  void** add(const void* wrapper) {
    const std::unique_lock lock(mutex_);
    binaries_.push_back(std::make_unique<FatBinary>(wrapper));
    return reinterpret_cast<void**>(binaries_.back().get());
  }
  void add(void** binary, const void* function) {
    const std::unique_lock lock(mutex_);
    of_function_[function] = reinterpret_cast<FatBinary*>(binary);
  }
  /// A function that nobody registered is taken to be compiled for the card.
  std::optional<Code> code(const void* function) {
    const std::shared_lock lock(mutex_);
    const auto found = of_function_.find(function);
    return found == of_function_.end() ? Code{card_architecture(), card_architecture()} : found->second->code();
  }

 private:
  std::shared_mutex mutex_;
  std::vector<std::unique_ptr<FatBinary>> binaries_;
  std::unordered_map<const void*, FatBinary*> of_function_;
};

int launched(const void* function) {
  if (!Kernels::instance().code(function)) return checked(kNoKernelImage);
  kernel_launched();
  return kSuccess;
}

struct Dim3 {
  unsigned x, y, z;
};
struct Launch {
  Dim3 grid, block;
  size_t shared;
  Handle stream;
};
Launch& pending() {
  thread_local Launch launch;
  return launch;
}

}  // namespace

VGPU_EXPORT void** __cudaRegisterFatBinary(void* wrapper) { return Kernels::instance().add(wrapper); }
VGPU_EXPORT void __cudaRegisterFunction(void** binary, const void* function, char*, const char*, int, void*, void*,
                                        void*, void*, int*) {
  Kernels::instance().add(binary, function);
}
VGPU_EXPORT char __cudaInitModule(void**) { return 1; }
VGPU_EXPORT int __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return kSuccess;
}
VGPU_EXPORT int cudaGetFuncBySymbol(void** kernel, const void* function) { return __cudaGetKernel(kernel, function); }
VGPU_EXPORT int cudaGetKernel(void** kernel, const void* function) { return __cudaGetKernel(kernel, function); }
VGPU_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, Handle stream) {
  pending() = {grid, block, shared, stream};
  return 0;
}
VGPU_EXPORT int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, void* stream) {
  *grid = pending().grid;
  *block = pending().block;
  *shared = pending().shared;
  put<Handle>(stream, 0, pending().stream);
  return kSuccess;
}
VGPU_EXPORT int cudaLaunchKernel(const void* f, Dim3, Dim3, void**, size_t, Handle) { return launched(f); }
VGPU_EXPORT int cudaLaunchCooperativeKernel(const void* f, Dim3, Dim3, void**, size_t, Handle) { return launched(f); }
VGPU_EXPORT int cudaLaunchKernelExC(const void*, const void* f, void**) { return launched(f); }
VGPU_EXPORT int __cudaLaunchKernel(Handle f, Dim3, Dim3, void**, size_t, Handle) { return launched(f); }
VGPU_EXPORT int cudaLaunchKernel_ptsz(const void* f, Dim3, Dim3, void**, size_t, Handle) { return launched(f); }
VGPU_EXPORT int cudaLaunchKernelExC_ptsz(const void*, const void* f, void**) { return launched(f); }
VGPU_EXPORT int __cudaLaunchKernel_ptsz(Handle f, Dim3, Dim3, void**, size_t, Handle) { return launched(f); }
/// cudaFuncAttributes: three sizes; then threads, registers, versions of PTX and binary, cache mode, dynamic shared
/// memory.
VGPU_EXPORT int cudaFuncGetAttributes(void* out, const void* function) {
  const std::optional<Code> code = Kernels::instance().code(function);
  std::memset(out, 0, 56);
  if (!code) return checked(kNoKernelImage);
  put<int>(out, 24, 1024);
  put<int>(out, 28, 32);
  put<int>(out, 32, code->compiled_for);
  put<int>(out, 36, code->runs_on);
  put<int>(out, 44, 49152);
  return kSuccess;
}
VGPU_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void*, int block, size_t) {
  *n = blocks_a_multiprocessor(block);
  return kSuccess;
}
VGPU_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* f, int block, size_t s,
                                                                       unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, block, s);
}
