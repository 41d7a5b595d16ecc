// Less usual ways to what the runtime and the driver have other names for: memory by the pitch, from pools and by the
// driver, copies by the driver and in batches, streams and captures of the driver.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "virtualgpu/captures.h"
#include "virtualgpu/card.h"
#include "virtualgpu/errors.h"
#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

namespace {

Memory& card_memory() { return Memory::instance(); }
int take(void** p, size_t n) { return checked(card_memory().allocate(p, n, current_card())); }
int take(Address* p, size_t n) {
  void* at = nullptr;
  const int result = take(&at, n);
  *p = reinterpret_cast<Address>(at);
  return result;
}
void* pointer(Address p) { return reinterpret_cast<void*>(p); }
int copied(void* to, const void* from, size_t n) {
  copy(to, from, n);
  return kSuccess;
}

/// Rows start at multiples of the texture alignment, as cudaMallocPitch is documented to do.
size_t pitch_of(size_t width) {
  const auto alignment = static_cast<size_t>(attribute(14));
  return (width + alignment - 1) / alignment * alignment;
}

struct Extent {
  size_t width, height, depth;
};

}  // namespace

// Memory
VGPU_EXPORT int cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  *pitch = pitch_of(width);
  return take(p, *pitch * height);
}
/// cudaPitchedPtr: pointer, pitch, width, height.
VGPU_EXPORT int cudaMalloc3D(void* out, Extent e) {
  void* p = nullptr;
  const size_t pitch = pitch_of(e.width);
  const int result = take(&p, pitch * e.height * e.depth);
  put<void*>(out, 0, p);
  put<size_t>(out, 8, pitch);
  put<size_t>(out, 16, e.width);
  put<size_t>(out, 24, e.height);
  return result;
}
VGPU_EXPORT int cudaMallocAsync_ptsz(void** p, size_t n, Handle) { return take(p, n); }
VGPU_EXPORT int cudaMallocFromPoolAsync_ptsz(void** p, size_t n, Handle, Handle) { return take(p, n); }
VGPU_EXPORT int cudaFreeAsync_ptsz(void* p, Handle) { return checked(card_memory().release(p)); }
VGPU_EXPORT int cuMemAllocPitch_v2(Address* p, size_t* pitch, size_t width, size_t height, unsigned) {
  *pitch = pitch_of(width);
  return take(p, *pitch * height);
}
VGPU_EXPORT int cuMemAllocManaged(Address* p, size_t n, unsigned) { return take(p, n); }
VGPU_EXPORT int cuMemAllocAsync(Address* p, size_t n, Handle) { return take(p, n); }
VGPU_EXPORT int cuMemAllocFromPoolAsync(Address* p, size_t n, Handle, Handle) { return take(p, n); }
VGPU_EXPORT int cuMemFreeAsync(Address p, Handle) { return checked(card_memory().release(pointer(p))); }
VGPU_EXPORT int cuMemHostRegister_v2(void* p, size_t n, unsigned) {
  card_memory().pin(p, n);
  return kSuccess;
}
VGPU_EXPORT int cuMemHostRegister(void* p, size_t n, unsigned flags) { return cuMemHostRegister_v2(p, n, flags); }
VGPU_EXPORT int cuMemHostUnregister(void* p) {
  card_memory().unpin(p);
  return kSuccess;
}
VGPU_EXPORT int cuMemHostAlloc(void** p, size_t n, unsigned) {
  *p = std::calloc(1, std::max<size_t>(n, 1));
  return *p ? cuMemHostRegister_v2(*p, n, 0) : kOutOfMemory;
}
VGPU_EXPORT int cuMemAllocHost_v2(void** p, size_t n) { return cuMemHostAlloc(p, n, 0); }
VGPU_EXPORT int cuMemFreeHost(void* p) {
  card_memory().unpin(p);
  std::free(p);
  return kSuccess;
}
VGPU_EXPORT int cuMemHostGetDevicePointer_v2(Address* device, void* host, unsigned) {
  *device = reinterpret_cast<Address>(host);
  return kSuccess;
}

// Copies
VGPU_EXPORT int cudaMemcpy_ptds(void* to, const void* from, size_t n, int) { return copied(to, from, n); }
VGPU_EXPORT int cudaMemcpyAsync_ptsz(void* to, const void* from, size_t n, int, Handle) { return copied(to, from, n); }
VGPU_EXPORT int cudaMemcpyPeer(void* to, int, const void* from, int, size_t n) { return copied(to, from, n); }
VGPU_EXPORT int cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                             size_t height, int) {
  for (size_t i = 0; i < height; ++i)
    copy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width);
  return kSuccess;
}
/// Of a symbol on the card nothing is known: zeros.
VGPU_EXPORT int cudaMemcpyFromSymbol(void* to, const void*, size_t n, size_t, int) {
  fill(to, 0, n);
  return kSuccess;
}
VGPU_EXPORT int cudaMemcpyFromSymbolAsync(void* to, const void* from, size_t n, size_t at, int kind, Handle) {
  return cudaMemcpyFromSymbol(to, from, n, at, kind);
}
/// What follows the count differs between CUDA 12 and 13, and is not needed.
VGPU_EXPORT int cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* n, size_t count) {
  for (size_t i = 0; i < count; ++i) copy(to[i], from[i], n[i]);
  return kSuccess;
}
VGPU_EXPORT int cuMemcpy(Address to, Address from, size_t n) { return copied(pointer(to), pointer(from), n); }
VGPU_EXPORT int cuMemcpyAsync(Address to, Address from, size_t n, Handle) { return cuMemcpy(to, from, n); }
VGPU_EXPORT int cuMemcpyPeer(Address to, Handle, Address from, Handle, size_t n) { return cuMemcpy(to, from, n); }
VGPU_EXPORT int cuMemcpyPeerAsync(Address to, Handle, Address from, Handle, size_t n, Handle) {
  return cuMemcpy(to, from, n);
}
VGPU_EXPORT int cuMemcpyDtoH_v2(void* to, Address from, size_t n) { return copied(to, pointer(from), n); }
VGPU_EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t n, Handle) { return cuMemcpyDtoH_v2(to, from, n); }
VGPU_EXPORT int cuMemcpyHtoD_v2(Address to, const void* from, size_t n) { return copied(pointer(to), from, n); }
VGPU_EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t n, Handle) {
  return cuMemcpyHtoD_v2(to, from, n);
}
VGPU_EXPORT int cuMemcpyDtoD_v2(Address to, Address from, size_t n) { return cuMemcpy(to, from, n); }
VGPU_EXPORT int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, Handle) { return cuMemcpy(to, from, n); }

// Streams, captures, events: everything has already happened
VGPU_EXPORT int cuStreamBeginCapture(Handle s, int) {
  begin_capture(s);
  return kSuccess;
}
VGPU_EXPORT int cuStreamBeginCapture_v2(Handle s, int mode) { return cuStreamBeginCapture(s, mode); }
VGPU_EXPORT int cuStreamEndCapture(Handle s, Handle* graph) {
  end_capture(s);
  *graph = new_handle();
  return kSuccess;
}
VGPU_EXPORT int cuStreamIsCapturing(Handle s, int* status) { return capture_status(s, status, nullptr); }
VGPU_EXPORT int cuStreamGetCaptureInfo_v2(Handle s, int* status, unsigned long long* id, Handle* graph,
                                          const Handle** dependencies, size_t* n) {
  static const Handle one = new_handle();
  if (graph) *graph = one;
  if (dependencies) *dependencies = nullptr;
  if (n) *n = 0;
  return capture_status(s, status, id);
}
VGPU_EXPORT int cuStreamGetCaptureInfo_v3(Handle s, int* status, unsigned long long* id, Handle* graph,
                                          const Handle** dependencies, const void** edges, size_t* n) {
  if (edges) *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(s, status, id, graph, dependencies, n);
}
VGPU_EXPORT int cuLaunchHostFunc(Handle, void (*f)(void*), void* user) {
  f(user);
  return kSuccess;
}
VGPU_EXPORT int cuLaunchHostFunc_v2(Handle s, void (*f)(void*), void* user, unsigned) {
  return cuLaunchHostFunc(s, f, user);
}
VGPU_EXPORT int cuEventElapsedTime(float* ms, Handle, Handle) {
  *ms = 1;
  return kSuccess;
}
VGPU_EXPORT int cuEventElapsedTime_v2(float* ms, Handle a, Handle b) { return cuEventElapsedTime(ms, a, b); }

// Devices and kernels
VGPU_EXPORT int cuCtxGetStreamPriorityRange(int* low, int* high) {
  if (low) *low = 0;
  if (high) *high = -5;
  return kSuccess;
}
VGPU_EXPORT int cuCtxGetApiVersion(Handle, unsigned* version) {
  *version = static_cast<unsigned>(settings().cuda);
  return kSuccess;
}
VGPU_EXPORT int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return kSuccess;
}
/// The first byte tells the cards apart, as in cudaDeviceProp.
VGPU_EXPORT int cuDeviceGetUuid_v2(void* id, int card) {
  std::memset(id, 0, 16);
  put<int>(id, 0, card + 1);
  return is_card(card) ? kSuccess : kInvalidDevice;
}
VGPU_EXPORT int cuDeviceGetUuid(void* id, int card) { return cuDeviceGetUuid_v2(id, card); }
VGPU_EXPORT int cuDeviceGetPCIBusId(char* s, int n, int card) {
  std::snprintf(s, static_cast<size_t>(n), "0000:%02x:00.0", static_cast<unsigned>(card + 1));
  return is_card(card) ? kSuccess : kInvalidDevice;
}
VGPU_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, Handle, int block, size_t, unsigned) {
  *n = blocks_a_multiprocessor(block);
  return kSuccess;
}
VGPU_EXPORT int cudaOccupancyMaxActiveClusters(int* n, const void*, const void*) {
  *n = settings().multiprocessors;
  return kSuccess;
}
VGPU_EXPORT int cudaOccupancyAvailableDynamicSMemPerBlock(size_t* n, const void*, int blocks, int) {
  *n = static_cast<size_t>(attribute(97)) / static_cast<size_t>(std::max(blocks, 1));
  return kSuccess;
}
VGPU_EXPORT int cuOccupancyAvailableDynamicSMemPerBlock(size_t* n, Handle f, int blocks, int threads) {
  return cudaOccupancyAvailableDynamicSMemPerBlock(n, f, blocks, threads);
}
