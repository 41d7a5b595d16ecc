#include "probe/overhead.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda_driver.h"
#include "backend/shared_library.h"
#include "probe/card_use.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// The least that a driver compiles and loads.
constexpr const char* kModule =
    ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n";

/// cuBLAS's handle and a first product, where the library is; its memory is that of kernels and workspace.
bool use_cublas(CudaDriver& driver) {
  const SharedLibrary library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}, "PROBE_STAND_IN_CUBLAS");
  auto* create = library.find<int(void**)>({"cublasCreate_v2"});
  auto* destroy = library.find<int(void*)>({"cublasDestroy_v2"});
  auto* multiply = library.find<int(void*, int, int, int, int, int, const float*, const void*, int, const void*, int,
                                    const float*, void*, int)>({"cublasSgemm_v2"});
  void* handle = nullptr;
  if (!create || !destroy || !multiply || create(&handle) != 0) return false;
  constexpr int kN = 512;
  const float one = 1, zero = 0;
  const auto matrix = driver.allocate(Bytes(3ull * kN * kN * sizeof(float)));
  if (matrix) {
    auto* const a = reinterpret_cast<float*>(*matrix);  // NOLINT(performance-no-int-to-ptr): an address of the card
    multiply(handle, 0, 0, kN, kN, kN, &one, a, kN, a + kN * kN, kN, &zero, a + 2 * kN * kN, kN);
    driver.memory();  // waits for nothing, but fails where the product failed
    driver.release(*matrix);
  }
  destroy(handle);
  return matrix.has_value();
}

constexpr std::uint64_t kSmallest = 2 << 20;

Bytes largest_block(CudaDriver& driver, Bytes free) {
  std::uint64_t low = 0, high = free.count() / kSmallest + 1;  // in blocks of 2 MiB
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (const auto block = driver.allocate(Bytes(middle * kSmallest))) {
      driver.release(*block);
      low = middle;
    } else {
      high = middle;
    }
  }
  return Bytes(low * kSmallest);
}

UsableMemory usable_memory(CudaDriver& driver) {
  UsableMemory u;
  u.free = driver.memory().free;
  u.largest_block = largest_block(driver, u.free);
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t size = u.largest_block.count(); size >= kSmallest;)
    if (const auto block = driver.allocate(Bytes(size))) {
      blocks.push_back(*block);
      u.all_blocks += Bytes(size);
    } else {
      size = size / 2 / kSmallest * kSmallest;
    }
  for (const std::uint64_t block : blocks) driver.release(block);
  return u;
}

}  // namespace

OverheadReport probe_overhead(int device, bool try_blocks) {
  const Nvml nvml;
  CudaDriver driver;
  if (device < 0 || device >= driver.count())
    throw UserError(fmt::format("there are {} devices", driver.count()), "--device", "the first is 0", Exit::usage);
  OverheadReport r;
  r.uuid = driver.uuid(device);
  const NvmlDevice on = nvml_device(nvml, r.uuid, device);
  r.card = nvml.card(on).name;
  CardUse use(nvml, on);
  const auto step = [&](const char* name) {
    r.steps.push_back({name, use.more()});
    r.context += r.steps.back().taken;
  };
  driver.enter(device);
  step("primary context");
  driver.load_module(kModule);
  step("module");
  if (use_cublas(driver))
    step("cuBLAS and a first product");
  else
    r.warnings.push_back("cuBLAS was not found or did not run: what its kernels take is not in the sum");
  r.by_process = use.by_process();
  if (!r.by_process)
    r.warnings.push_back("the driver does not tell what this process takes: these are differences of the whole device");
  if (try_blocks) r.usable = usable_memory(driver);
  return r;
}

}  // namespace vramplan
