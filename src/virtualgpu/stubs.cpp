#include "virtualgpu/stubs.h"

#include "virtualgpu/abi.h"
#include "virtualgpu/memory.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

namespace {

std::atomic<Stub*> newest{nullptr};
constexpr int kCuptiNotSupported = 27;

}  // namespace

void Stub::reached() {
  if (times++ > 0) return;
  next = newest;
  while (!newest.compare_exchange_weak(next, this)) {
  }
}

const Stub* virtualgpu::reached_stubs() { return newest; }

// SUCCEED: nothing is expected back, or only what stays on the card. LAUNCH: the same, and it counts as
// work. UNANSWERED: something is that is not known here, so
// the call fails. HANDLE: gives a new handle. NUMBER: gives a handle that is a number. NO_BYTES: answers through its
// n-th parameter that no workspace is needed, as a size_t; NO_BYTES_TWICE through that and the next (on the card, on
// the host); NO_COUNT as an int. ZEROS: its n-th parameter points to so many bytes, which are zero. RESULT: the same,
// where they may be the card's, which are left alone. TEXT: gives words. UNSUPPORTED: the profiler, which then traces
// the host alone. Parameters are counted without those that are floats: these are passed elsewhere.
namespace {

/// Bytes behind parameter n, and those after it; a null pointer asks for nothing.
int zero(int n, int times, size_t bytes, void* const (&all)[24]) {
  for (int i = 0; i < times; ++i)
    if (all[n - 1 + i]) std::memset(all[n - 1 + i], 0, bytes);
  return kSuccess;
}

}  // namespace

// More parameters than some calls have: those that are not there are read and not used.
#define PARAMETERS                                                                                                  \
  void *p1, void *p2, void *p3, void *p4, void *p5, void *p6, void *p7, void *p8, void *p9, void *p10, void *p11,   \
      void *p12, void *p13, void *p14, void *p15, void *p16, void *p17, void *p18, void *p19, void *p20, void *p21, \
      void *p22, void *p23, void *p24
#define ALL \
  { p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, p22, p23, p24 }

#define STUB(name, kind)                                             \
  namespace {                                                        \
  constinit Stub stub_##name{#name, Stub::Kind::kind, {0}, nullptr}; \
  }
#define SUCCEED(name) \
  VGPU_EXPORT int name() { return kSuccess; }
#define LAUNCH(name)       \
  VGPU_EXPORT int name() { \
    kernel_launched();     \
    return kSuccess;       \
  }
#define UNANSWERED(name)   \
  STUB(name, unanswered)   \
  VGPU_EXPORT int name() { \
    stub_##name.reached(); \
    return kNotSupported;  \
  }
#define HANDLE(name)                    \
  VGPU_EXPORT int name(void** handle) { \
    *handle = new_handle();             \
    return kSuccess;                    \
  }
#define NUMBER(name)                  \
  VGPU_EXPORT int name(int* handle) { \
    *handle = 1;                      \
    return kSuccess;                  \
  }
#define WORKSPACE(name, n, times, bytes) \
  STUB(name, workspace)                  \
  VGPU_EXPORT int name(PARAMETERS) {     \
    stub_##name.reached();               \
    return zero(n, times, bytes, ALL);   \
  }
#define NO_BYTES(name, n) WORKSPACE(name, n, 1, sizeof(size_t))
#define NO_BYTES_TWICE(name, n) WORKSPACE(name, n, 2, sizeof(size_t))
#define NO_COUNT(name, n) WORKSPACE(name, n, 1, sizeof(int))
#define ZEROS(name, n, bytes) \
  VGPU_EXPORT int name(PARAMETERS) { return zero(n, 1, bytes, ALL); }
#define RESULT(name, n, bytes)                                     \
  VGPU_EXPORT int name(PARAMETERS) {                               \
    void* const all[24] = ALL;                                     \
    if (Memory::instance().on_device(all[(n)-1])) return kSuccess; \
    return zero(n, 1, bytes, all);                                 \
  }
#define TEXT(name) \
  VGPU_EXPORT const char* name() { return "a status of the virtual GPU"; }
#define UNSUPPORTED(name) \
  VGPU_EXPORT int name() { return kCuptiNotSupported; }

#include "virtualgpu/calls.inc"
