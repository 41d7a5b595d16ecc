#include "probe/cuda_driver.h"

#include <fmt/format.h>

#include <array>

#include "probe/shared_library.h"
#include "probe/status_words.h"
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

  bool whole() const {
    return init && count && get && retain && let_go && set_current && load && info && allocate && release;
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

void CudaDriver::load_module(const char* text) {
  void* module = nullptr;
  check(calls_->load(&module, text), "cuModuleLoadData");
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

}  // namespace vramplan
