#include "backend/cuda_kernels.h"

#include <fmt/format.h>

#include <array>

#include "backend/shared_library.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// NVRTC, by our own few prototypes of nvrtc.h.
struct Nvrtc {
  SharedLibrary library{{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
                        "PROBE_STAND_IN_NVRTC"};
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) =
      library.find<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
          {"nvrtcCreateProgram"});
  int (*destroy)(void**) = library.find<int(void**)>({"nvrtcDestroyProgram"});
  int (*compile)(void*, int,
                 const char* const*) = library.find<int(void*, int, const char* const*)>({"nvrtcCompileProgram"});
  int (*log_size)(void*, std::size_t*) = library.find<int(void*, std::size_t*)>({"nvrtcGetProgramLogSize"});
  int (*log)(void*, char*) = library.find<int(void*, char*)>({"nvrtcGetProgramLog"});
  int (*size)(void*, std::size_t*) = library.find<int(void*, std::size_t*)>({"nvrtcGetCUBINSize"});
  int (*cubin)(void*, char*) = library.find<int(void*, char*)>({"nvrtcGetCUBIN"});

  bool whole() const { return create && destroy && compile && log_size && log && size && cubin; }

  template <class Size, class Read>
  static std::string text_of(void* program, Size size_of, Read read) {
    std::size_t n = 0;
    if (size_of(program, &n) != 0) return {};
    std::string out(n, '\0');
    return read(program, out.data()) == 0 ? out : std::string();
  }
};

}  // namespace

std::string compile_kernels(std::string_view text, int capability) {
  const Nvrtc nvrtc;
  if (!nvrtc.whole())
    throw UserError(fmt::format("this program was built without a CUDA toolkit, and libnvrtc.so is not here: {}",
                                nvrtc.library.opened() ? "it lacks calls" : nvrtc.library.why_not()),
                    "kernels", "install NVRTC (of the CUDA toolkit, or nvidia-cuda-nvrtc of PyPI, in LD_LIBRARY_PATH)");
  const std::string source(text), target = fmt::format("--gpu-architecture=sm_{}", capability);
  const std::array<const char*, 2> options{target.c_str(), "--std=c++17"};
  void* program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    throw UserError("NVRTC does not start", "kernels", "is it whole? its libnvrtc-builtins.so must lie beside it");
  const int status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  const std::string log = Nvrtc::text_of(program, nvrtc.log_size, nvrtc.log);
  std::string cubin = Nvrtc::text_of(program, nvrtc.size, nvrtc.cubin);
  nvrtc.destroy(&program);
  if (status != 0 || cubin.empty())
    throw UserError(
        fmt::format("NVRTC refuses the kernels for sm_{} (status {}):\n{}", capability, status, log.c_str()), "kernels",
        "a newer CUDA toolkit may know this card");
  return cubin;
}

CudaKernels::CudaKernels(CudaDriver& driver) : driver_(driver), capability_(driver.compute_capability()) {
  const EmbeddedKernels kernels = embedded_kernels();
  const std::string cubin = kernels.compiled ? std::string() : compile_kernels(kernels.image, capability_);
  module_ = driver_.load_module(kernels.compiled ? kernels.image.data() : cubin.data());
}

CudaDriver::Function CudaKernels::function(const char* name) {
  CudaDriver::Function& f = functions_[name];
  if (!f) f = driver_.function(module_, name);
  return f;
}

}  // namespace vramplan
