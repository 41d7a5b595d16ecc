#include "backend/cuda_driver.h"

#include <fmt/format.h>

#include <array>

#include "backend/shared_library.h"
#include "backend/status_words.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

constexpr int kSuccess = 0, kOutOfMemory = 2;

constexpr StatusWord kWords[]{
    {kOutOfMemory, "out of memory", "free the card: vramplan probe device shows who uses it"},
    {3, "the driver is not initialised", ""},
    {34, "this libcuda.so.1 is a stub for linking, not the driver's",
     "take the toolkit's stubs out of LD_LIBRARY_PATH"},
    {100, "no CUDA device is visible", "check CUDA_VISIBLE_DEVICES, and the container's --gpus"},
    {101, "there is no device of this number", "vramplan probe device lists them"},
    {200, "this card cannot run the module: it is older than sm_70", ""},
    {209, "this program has no kernels for this card", "build it where a newer CUDA toolkit is"},
    {222, "the driver is older than the kernels of this program", "update the driver, or build with its toolkit"},
    {500, "the module lacks a kernel", "that is a defect of this program"},
    {700, "a kernel read or wrote where nothing is", "that is a defect of this program"},
    {719, "a kernel failed", "look into the kernel's log: dmesg"},
    {803, "driver and library have different versions", "restart the machine after the driver's update"},
    {804, "forward compatibility is not supported on this card", "take the compat folder out of LD_LIBRARY_PATH"},
    {999, "an unknown error of the driver", "look into the kernel's log: dmesg"}};

void check(int status, const char* call) {
  if (status != kSuccess) throw UserError(cuda_status(status), call, word_of(kWords, status).next);
}

}  // namespace

std::string cuda_status(int code) { return fmt::format("{} (CUDA status {})", word_of(kWords, code).meaning, code); }

struct CudaDriver::Calls {
  SharedLibrary library{{"libcuda.so.1"}, "PROBE_STAND_IN_CUDA"};
  int (*init)(unsigned) = library.find<int(unsigned)>({"cuInit"});
  int (*count)(int*) = library.find<int(int*)>({"cuDeviceGetCount"});
  int (*get)(int*, int) = library.find<int(int*, int)>({"cuDeviceGet"});
  int (*uuid)(unsigned char*, int) = library.find<int(unsigned char*, int)>({"cuDeviceGetUuid_v2", "cuDeviceGetUuid"});
  int (*retain)(void**, int) = library.find<int(void**, int)>({"cuDevicePrimaryCtxRetain"});
  int (*let_go)(int) = library.find<int(int)>({"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"});
  int (*set_current)(void*) = library.find<int(void*)>({"cuCtxSetCurrent"});
  int (*load)(void**, const void*) = library.find<int(void**, const void*)>({"cuModuleLoadData"});
  int (*info)(std::size_t*, std::size_t*) = library.find<int(std::size_t*, std::size_t*)>({"cuMemGetInfo_v2"});
  int (*allocate)(std::uint64_t*, std::size_t) = library.find<int(std::uint64_t*, std::size_t)>({"cuMemAlloc_v2"});
  int (*release)(std::uint64_t) = library.find<int(std::uint64_t)>({"cuMemFree_v2"});

  int (*unload)(void*) = library.find<int(void*)>({"cuModuleUnload"});
  int (*function)(void**, void*, const char*) = library.find<int(void**, void*, const char*)>({"cuModuleGetFunction"});
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = library.find<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           void*, void**, void**)>({"cuLaunchKernel"});
  int (*synchronise)() = library.find<int()>({"cuCtxSynchronize"});
  int (*name)(char*, int, int) = library.find<int(char*, int, int)>({"cuDeviceGetName"});
  int (*attribute)(int*, int, int) = library.find<int(int*, int, int)>({"cuDeviceGetAttribute"});
  int (*download)(void*, std::uint64_t,
                  std::size_t) = library.find<int(void*, std::uint64_t, std::size_t)>({"cuMemcpyDtoH_v2"});
  int (*upload)(std::uint64_t, const void*,
                std::size_t) = library.find<int(std::uint64_t, const void*, std::size_t)>({"cuMemcpyHtoD_v2"});

  bool whole() const {
    return init && count && get && retain && let_go && set_current && load && info && allocate && release && unload &&
           function && launch && synchronise && name && attribute && download && upload;
  }
};

CudaDriver::CudaDriver() : calls_(std::make_unique<Calls>()) {
  if (!calls_->library.opened())
    throw UserError(fmt::format("no CUDA driver here: {}", calls_->library.why_not()), "libcuda.so.1",
                    "install the driver; in a container, give it the GPU (--gpus all)");
  if (!calls_->whole())
    throw UserError("this library lacks calls that every driver since CUDA 7 has", "libcuda.so.1", "is it NVIDIA's?");
  check(calls_->init(0), "cuInit");
}

CudaDriver::~CudaDriver() { leave(); }

int CudaDriver::count() const {
  int n = 0;
  check(calls_->count(&n), "cuDeviceGetCount");
  return n;
}

std::string CudaDriver::uuid(int device) const {
  std::array<unsigned char, 16> bytes{};
  int handle = 0;
  check(calls_->get(&handle, device), "cuDeviceGet");
  if (!calls_->uuid || calls_->uuid(bytes.data(), handle) != kSuccess) return {};
  std::string out = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  return out;
}

void CudaDriver::enter(int device) {
  int handle = 0;
  void* context = nullptr;
  check(calls_->get(&handle, device), "cuDeviceGet");
  check(calls_->retain(&context, handle), "cuDevicePrimaryCtxRetain");
  device_ = handle;
  check(calls_->set_current(context), "cuCtxSetCurrent");
}

void CudaDriver::leave() {
  if (device_ >= 0) calls_->let_go(device_);
  device_ = -1;
}

CudaDriver::Module CudaDriver::load_module(const char* image) {
  void* module = nullptr;
  check(calls_->load(&module, image), "cuModuleLoadData");
  return module;
}

void CudaDriver::unload(Module module) const { calls_->unload(module); }

CudaDriver::Function CudaDriver::function(Module module, const char* name) const {
  void* kernel = nullptr;
  check(calls_->function(&kernel, module, name), name);
  return kernel;
}

void CudaDriver::launch(Function kernel, const Grid& grid, unsigned threads, void** parameters) const {
  check(calls_->launch(kernel, grid.x, grid.y, grid.z, threads, 1, 1, 0, nullptr, parameters, nullptr),
        "cuLaunchKernel");
}

void CudaDriver::synchronise() const { check(calls_->synchronise(), "cuCtxSynchronize"); }

std::string CudaDriver::name() const {
  std::array<char, 128> text{};
  check(calls_->name(text.data(), static_cast<int>(text.size()) - 1, device_), "cuDeviceGetName");
  return text.data();
}

int CudaDriver::compute_capability() const {
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...
  int major = 0, minor = 0;
  check(calls_->attribute(&major, kMajor, device_), "cuDeviceGetAttribute");
  check(calls_->attribute(&minor, kMinor, device_), "cuDeviceGetAttribute");
  return 10 * major + minor;
}

CudaDriver::Memory CudaDriver::memory() const {
  std::size_t free = 0, total = 0;
  check(calls_->info(&free, &total), "cuMemGetInfo");
  return {Bytes(free), Bytes(total)};
}

std::optional<std::uint64_t> CudaDriver::allocate(Bytes size) {
  std::uint64_t address = 0;
  const int status = calls_->allocate(&address, size.count());
  if (status == kOutOfMemory) return std::nullopt;
  check(status, "cuMemAlloc");
  return address;
}

void CudaDriver::release(std::uint64_t address) { check(calls_->release(address), "cuMemFree"); }

void CudaDriver::download(void* to, std::uint64_t from, std::size_t bytes) const {
  check(calls_->download(to, from, bytes), "cuMemcpyDtoH");
}

void CudaDriver::upload(std::uint64_t to, const void* from, std::size_t bytes) const {
  check(calls_->upload(to, from, bytes), "cuMemcpyHtoD");
}

}  // namespace vramplan
