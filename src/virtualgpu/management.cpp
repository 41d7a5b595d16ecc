// The management library (libnvidia-ml): what nvidia-smi would be told.
#include <cstdio>

#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"

using namespace virtualgpu;

namespace {

constexpr int kNvmlNotSupported = 3, kNvmlInvalidArgument = 2;

/// Handles are the card's number and one; this library knows nothing of CUDA_VISIBLE_DEVICES.
intptr_t card_of(const void* handle) { return reinterpret_cast<intptr_t>(handle) - 1; }

}  // namespace

VGPU_EXPORT int nvmlInit_v2() { return 0; }
VGPU_EXPORT int nvmlInit() { return 0; }
VGPU_EXPORT int nvmlShutdown() { return 0; }
VGPU_EXPORT const char* nvmlErrorString(int) { return "not supported on a virtual GPU"; }
VGPU_EXPORT int nvmlDeviceGetCount_v2(unsigned* n) {
  *n = static_cast<unsigned>(settings().cards);
  return 0;
}
VGPU_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* v) {
  *v = settings().cuda;
  return 0;
}
VGPU_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) {
  if (i >= static_cast<unsigned>(settings().cards)) return kNvmlInvalidArgument;
  *device = reinterpret_cast<void*>(static_cast<intptr_t>(i) + 1);
  return 0;
}
VGPU_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  unsigned bus = 1;
  std::sscanf(id, "%*x:%x", &bus);
  return nvmlDeviceGetHandleByIndex_v2(bus - 1, device);
}
VGPU_EXPORT int nvmlDeviceGetName(void*, char* s, unsigned n) {
  std::snprintf(s, n, "%s", settings().name.c_str());
  return 0;
}
/// nvmlMemory_t: total, free, used.
VGPU_EXPORT int nvmlDeviceGetMemoryInfo(void* device, void* info) {
  CardMemory card{settings().memory, 0, 0, 0};
  const intptr_t which = card_of(device);
  if (is_card(static_cast<int>(which))) card = Memory::instance().card(static_cast<int>(which));
  put<uint64_t>(info, 0, card.total);
  put<uint64_t>(info, 8, card.total - card.used);
  put<uint64_t>(info, 16, card.used);
  return 0;
}
VGPU_EXPORT int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* n, void*) {
  *n = 0;
  return 0;
}
VGPU_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, void*) { return kNvmlNotSupported; }
VGPU_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return kNvmlNotSupported; }
VGPU_EXPORT int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return kNvmlNotSupported; }
VGPU_EXPORT int nvmlDeviceGetGpuFabricInfo(void*, void*) { return kNvmlNotSupported; }
