// The CUDA runtime (libcudart): memory, devices, streams, graphs. Kernels have a file of their own.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "virtualgpu/captures.h"
#include "virtualgpu/card.h"
#include "virtualgpu/errors.h"
#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

namespace {

Memory& memory() { return Memory::instance(); }
int give(Handle* out) {
  *out = new_handle();
  return kSuccess;
}

}  // namespace

// Memory
VGPU_EXPORT int cudaMalloc(void** p, size_t n) { return checked(memory().allocate(p, n, current_card())); }
VGPU_EXPORT int cudaMallocAsync(void** p, size_t n, Handle) { return cudaMalloc(p, n); }
VGPU_EXPORT int cudaMallocFromPoolAsync(void** p, size_t n, Handle, Handle) { return cudaMalloc(p, n); }
VGPU_EXPORT int cudaMallocManaged(void** p, size_t n, unsigned) { return cudaMalloc(p, n); }
VGPU_EXPORT int cudaFree(void* p) { return checked(memory().release(p)); }
VGPU_EXPORT int cudaFreeAsync(void* p, Handle) { return cudaFree(p); }
VGPU_EXPORT int cudaHostRegister(void* p, size_t n, unsigned) {
  memory().pin(p, n);
  return kSuccess;
}
VGPU_EXPORT int cudaHostUnregister(void* p) {
  memory().unpin(p);
  return kSuccess;
}
VGPU_EXPORT int cudaMallocHost(void** p, size_t n) {
  *p = std::calloc(1, std::max<size_t>(n, 1));
  return *p ? cudaHostRegister(*p, n, 0) : checked(kOutOfMemory);
}
VGPU_EXPORT int cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMallocHost(p, n); }
VGPU_EXPORT int cudaFreeHost(void* p) {
  memory().unpin(p);
  std::free(p);
  return kSuccess;
}
VGPU_EXPORT int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return kSuccess;
}
VGPU_EXPORT int cudaMemGetInfo(size_t* free, size_t* total) {
  return checked(memory().info(current_card(), free, total));
}
VGPU_EXPORT int cudaMemcpy(void* to, const void* from, size_t n, int) {
  copy(to, from, n);
  return kSuccess;
}
VGPU_EXPORT int cudaMemcpyAsync(void* to, const void* from, size_t n, int, Handle) {
  return cudaMemcpy(to, from, n, 0);
}
VGPU_EXPORT int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, Handle) {
  return cudaMemcpy(to, from, n, 0);
}
VGPU_EXPORT int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                  size_t height, int, Handle) {
  for (size_t i = 0; i < height; ++i)
    copy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width);
  return kSuccess;
}
VGPU_EXPORT int cudaMemset(void* at, int value, size_t n) {
  fill(at, value, n);
  return kSuccess;
}
VGPU_EXPORT int cudaMemsetAsync(void* at, int value, size_t n, Handle) { return cudaMemset(at, value, n); }
/// cudaPointerAttributes: type (0 host, 1 pinned, 2 device), device, device pointer, host pointer.
VGPU_EXPORT int cudaPointerGetAttributes(void* out, const void* p) {
  const Memory::Kind kind = memory().kind(p);
  const bool device = kind == Memory::Kind::device, known = kind != Memory::Kind::host;
  put<int>(out, 0, device ? 2 : known ? 1 : 0);
  put<int>(out, 4, device ? memory().card_of(p, current_card()) : known ? current_card() : -2);
  put<const void*>(out, 8, known ? p : nullptr);
  put<const void*>(out, 16, device ? nullptr : p);
  return kSuccess;
}
/// One scratch page stands for every symbol on the device. It is part of the context, not of what is counted.
VGPU_EXPORT int cudaGetSymbolAddress(void** p, const void*) {
  static Address page = 0;
  static std::once_flag once;
  std::call_once(once, [] { memory().reserve(&page, kPage); });
  *p = reinterpret_cast<void*>(page);
  return kSuccess;
}

// Devices
VGPU_EXPORT int cudaGetDeviceCount(int* n) {
  *n = memory().cards();
  return *n ? kSuccess : checked(kNoDevice);
}
VGPU_EXPORT int cudaGetDevice(int* d) {
  *d = current_card();
  return kSuccess;
}
VGPU_EXPORT int cudaSetDevice(int d) {
  if (!is_card(d)) return checked(kInvalidDevice);
  current_card() = d;
  return kSuccess;
}
VGPU_EXPORT int cudaDriverGetVersion(int* v) {
  *v = settings().cuda;
  return kSuccess;
}
VGPU_EXPORT int cudaRuntimeGetVersion(int* v) { return cudaDriverGetVersion(v); }
VGPU_EXPORT int cudaGetDeviceProperties(void* p, int d) { return checked(fill_properties(p, d, Properties::cuda13)); }
VGPU_EXPORT int cudaGetDeviceProperties_v2(void* p, int d) {
  return checked(fill_properties(p, d, Properties::cuda12));
}
VGPU_EXPORT int cudaDeviceGetAttribute(int* v, int which, int) {
  *v = attribute(which);
  return kSuccess;
}
VGPU_EXPORT int cudaDeviceGetPCIBusId(char* s, int n, int d) {
  std::snprintf(s, static_cast<size_t>(n), "0000:%02x:00.0", static_cast<unsigned>(d + 1));
  return kSuccess;
}
VGPU_EXPORT int cudaDeviceGetStreamPriorityRange(int* low, int* high) {
  if (low) *low = 0;
  if (high) *high = -5;
  return kSuccess;
}
VGPU_EXPORT int cudaDeviceCanAccessPeer(int* v, int, int) {
  *v = 1;
  return kSuccess;
}
VGPU_EXPORT int cudaDeviceGetDefaultMemPool(Handle* p, int) { return give(p); }
VGPU_EXPORT int cudaMemPoolGetAttribute(Handle, int, void* v) {
  put<uint64_t>(v, 0, 0);
  return kSuccess;
}
VGPU_EXPORT int cudaDeviceGetGraphMemAttribute(int, int, void* v) {
  put<uint64_t>(v, 0, 0);
  return kSuccess;
}

// Errors
VGPU_EXPORT int cudaGetLastError() { return take_last_error(); }
VGPU_EXPORT int cudaPeekAtLastError() { return last_error(); }
VGPU_EXPORT const char* cudaGetErrorName(int e) { return name_of(e); }
VGPU_EXPORT const char* cudaGetErrorString(int e) { return describe(e); }

// Streams and events: everything has already happened
VGPU_EXPORT int cudaStreamCreate(Handle* s) { return give(s); }
VGPU_EXPORT int cudaStreamCreateWithFlags(Handle* s, unsigned) { return give(s); }
VGPU_EXPORT int cudaStreamCreateWithPriority(Handle* s, unsigned, int) { return give(s); }
VGPU_EXPORT int cudaStreamGetPriority(Handle, int* p) {
  *p = 0;
  return kSuccess;
}
VGPU_EXPORT int cudaStreamAddCallback(Handle s, void (*f)(Handle, int, void*), void* user, unsigned) {
  f(s, kSuccess, user);
  return kSuccess;
}
VGPU_EXPORT int cudaLaunchHostFunc(Handle, void (*f)(void*), void* user) {
  f(user);
  return kSuccess;
}
VGPU_EXPORT int cudaEventCreate(Handle* e) { return give(e); }
VGPU_EXPORT int cudaEventCreateWithFlags(Handle* e, unsigned) { return give(e); }
VGPU_EXPORT int cudaEventDestroy(Handle) { return kSuccess; }
VGPU_EXPORT int cudaEventElapsedTime(float* ms, Handle, Handle) {
  *ms = 1;
  return kSuccess;
}
VGPU_EXPORT int cudaEventElapsedTime_v2(float* ms, Handle a, Handle b) { return cudaEventElapsedTime(ms, a, b); }

// Graphs
VGPU_EXPORT int cudaStreamBeginCapture(Handle s, int) {
  begin_capture(s);
  return kSuccess;
}
VGPU_EXPORT int cudaStreamEndCapture(Handle s, Handle* graph) {
  end_capture(s);
  return give(graph);
}
VGPU_EXPORT int cudaStreamIsCapturing(Handle s, int* status) { return capture_status(s, status, nullptr); }
VGPU_EXPORT int cudaStreamGetCaptureInfo_v2(Handle s, int* status, unsigned long long* id, Handle* graph,
                                            const Handle** dependencies, size_t* n) {
  static const Handle one = new_handle();
  if (graph) *graph = one;
  if (dependencies) *dependencies = nullptr;
  if (n) *n = 0;
  return capture_status(s, status, id);
}
VGPU_EXPORT int cudaStreamGetCaptureInfo_v3(Handle s, int* status, unsigned long long* id, Handle* graph,
                                            const Handle** dependencies, void** edges, size_t* n) {
  if (edges) *edges = nullptr;
  return cudaStreamGetCaptureInfo_v2(s, status, id, graph, dependencies, n);
}
/// CUDA 13's plain name has the form of _v3.
VGPU_EXPORT int cudaStreamGetCaptureInfo(Handle s, int* status, unsigned long long* id, Handle* graph,
                                         const Handle** dependencies, void** edges, size_t* n) {
  return cudaStreamGetCaptureInfo_v3(s, status, id, graph, dependencies, edges, n);
}
VGPU_EXPORT int cudaGraphInstantiate(Handle* e, Handle, unsigned long long) { return give(e); }
VGPU_EXPORT int cudaGraphInstantiateWithFlags(Handle* e, Handle, unsigned long long) { return give(e); }
/// Not empty: PyTorch warns of an empty capture.
VGPU_EXPORT int cudaGraphGetNodes(Handle, Handle*, size_t* n) {
  if (n) *n = 1;
  return kSuccess;
}
