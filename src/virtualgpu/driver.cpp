// The CUDA driver (libcuda): expandable segments use its virtual memory, Triton loads and launches through it. Calls
// are mostly looked up by name.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "virtualgpu/card.h"
#include "virtualgpu/errors.h"
#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"

using namespace virtualgpu;

namespace {

Memory& memory() { return Memory::instance(); }

}  // namespace

VGPU_EXPORT int cuMemAddressReserve(Address* p, size_t n, size_t, Address, unsigned long long) {
  return memory().reserve(p, n);
}
VGPU_EXPORT int cuMemAddressFree(Address p, size_t) { return memory().unreserve(p); }
/// CUmemAllocationProp: the location's id, the card, stands at byte 12.
VGPU_EXPORT int cuMemCreate(uint64_t* handle, size_t n, const void* properties, unsigned long long) {
  int card = current_card();
  if (properties) std::memcpy(&card, static_cast<const char*>(properties) + 12, sizeof card);
  return memory().create(handle, n, card);
}
VGPU_EXPORT int cuMemRelease(uint64_t handle) { return memory().destroy(handle); }
VGPU_EXPORT int cuMemGetAllocationGranularity(size_t* g, const void*, int) {
  *g = kPage;
  return kSuccess;
}
VGPU_EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) { return memory().info(current_card(), free, total); }
VGPU_EXPORT int cuMemAlloc_v2(Address* p, size_t n) {
  void* at = nullptr;
  const int result = memory().allocate(&at, n, current_card());
  *p = reinterpret_cast<Address>(at);
  return result;
}
VGPU_EXPORT int cuMemFree_v2(Address p) { return memory().release(reinterpret_cast<void*>(p)); }

VGPU_EXPORT int cuGetErrorString(int e, const char** s) {
  *s = describe(e);
  return kSuccess;
}
VGPU_EXPORT int cuGetErrorName(int e, const char** s) {
  *s = name_of(e);
  return kSuccess;
}
VGPU_EXPORT int cuDriverGetVersion(int* v) {
  *v = settings().cuda;
  return kSuccess;
}
VGPU_EXPORT int cuDeviceGetCount(int* n) {
  *n = memory().cards();
  return kSuccess;
}
VGPU_EXPORT int cuDeviceGet(int* d, int ordinal) {
  *d = ordinal;
  return is_card(ordinal) ? kSuccess : kInvalidDevice;
}
VGPU_EXPORT int cuDeviceGetAttribute(int* v, int which, int) {
  *v = attribute(which);
  return kSuccess;
}
VGPU_EXPORT int cuDeviceGetName(char* s, int n, int) {
  std::snprintf(s, static_cast<size_t>(n), "%s", settings().name.c_str());
  return kSuccess;
}
VGPU_EXPORT int cuDeviceTotalMem_v2(size_t* n, int d) {
  if (!is_card(d)) return kInvalidDevice;
  *n = memory().card(d).total;
  return kSuccess;
}
VGPU_EXPORT int cuCtxGetCurrent(Handle* c) {
  static char context;
  *c = &context;
  return kSuccess;
}
VGPU_EXPORT int cuCtxPopCurrent_v2(Handle* c) { return c ? cuCtxGetCurrent(c) : kSuccess; }
VGPU_EXPORT int cuCtxPopCurrent(Handle* c) { return cuCtxPopCurrent_v2(c); }
VGPU_EXPORT int cuStreamGetCtx(Handle, Handle* c) { return cuCtxGetCurrent(c); }
VGPU_EXPORT int cuCtxGetDevice(int* d) {
  *d = current_card();
  return kSuccess;
}
VGPU_EXPORT int cuDevicePrimaryCtxRetain(Handle* c, int) { return cuCtxGetCurrent(c); }
VGPU_EXPORT int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  if (flags) *flags = 0;
  if (active) *active = 1;
  return kSuccess;
}
/// CUpointer_attribute: 2 memory type, 3 and 4 the device's and the host's pointer, 9 the card.
VGPU_EXPORT int cuPointerGetAttribute(void* data, int which, Address p) {
  const void* const at = reinterpret_cast<const void*>(p);
  const bool device = memory().on_device(at);
  if (which == 2)
    put<int>(data, 0, device ? 2 : 1);
  else if (which == 3 || which == 4)
    put<Address>(data, 0, p);
  else
    put<int>(data, 0, which == 9 && device ? memory().card_of(at, current_card()) : 0);
  return kSuccess;
}

VGPU_EXPORT int cuModuleLoadData(Handle* m, const void*) {
  *m = new_handle();
  return kSuccess;
}
VGPU_EXPORT int cuModuleLoadDataEx(Handle* m, const void*, unsigned, void*, void*) {
  *m = new_handle();
  return kSuccess;
}
VGPU_EXPORT int cuModuleGetFunction(Handle* f, Handle, const char*) {
  *f = new_handle();
  return kSuccess;
}
/// CUfunction_attribute: 0 threads, 4 registers, 5 and 6 the versions of PTX and binary: compiled for this card, at run
/// time.
VGPU_EXPORT int cuFuncGetAttribute(int* v, int which, Handle) {
  const int architecture = settings().major * 10 + settings().minor;
  *v = which == 0 ? 1024 : which == 4 ? 32 : which == 5 || which == 6 ? architecture : 0;
  return kSuccess;
}
VGPU_EXPORT int cuKernelGetAttribute(int* v, int which, Handle kernel, int) {
  return cuFuncGetAttribute(v, which, kernel);
}
VGPU_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, Handle, int block, size_t) {
  *n = blocks_a_multiprocessor(block);
  return kSuccess;
}
VGPU_EXPORT int cuOccupancyMaxActiveClusters(int* n, Handle, const void*) {
  *n = settings().multiprocessors;
  return kSuccess;
}

// Look-up by name: the newest form of a call that is here. Of one that is not the driver would say so, too: it is of a
// later version, and its caller has another way.
VGPU_EXPORT int cuGetProcAddress_v2(const char* name, void** f, int, uint64_t, int* found) {
  *f = dlsym(RTLD_DEFAULT, (std::string(name) + "_v2").c_str());
  if (!*f) *f = dlsym(RTLD_DEFAULT, name);
  if (found) *found = *f ? 0 : 1;
  return *f ? kSuccess : kNotFound;
}
VGPU_EXPORT int cuGetProcAddress(const char* name, void** f, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, f, version, flags, nullptr);
}
/// Succeeds where its caller asks whether there is such a call.
VGPU_EXPORT int cudaGetDriverEntryPoint(const char* name, void** f, unsigned long long flags, int* found) {
  const int result = cuGetProcAddress_v2(name, f, 0, flags, found);
  return found ? kSuccess : result;
}
VGPU_EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** f, unsigned, unsigned long long flags,
                                                 int* found) {
  return cudaGetDriverEntryPoint(name, f, flags, found);
}
