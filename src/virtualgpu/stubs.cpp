#include "virtualgpu/stubs.h"

#include "virtualgpu/abi.h"
#include "virtualgpu/settings.h"

using namespace virtualgpu;

namespace {

std::atomic<Stub*> newest{nullptr};
constexpr int kStubNotSupported = 801, kCuptiNotSupported = 27;

}  // namespace

int Stub::reached() {
  if (times++ == 0) {
    next = newest;
    while (!newest.compare_exchange_weak(next, this)) {
    }
  }
  return settings().strict ? kStubNotSupported : kSuccess;
}

const Stub* virtualgpu::reached_stubs() { return newest; }

// SUCCEED: nothing is expected back. GUESS: something is, and its caller finds what it put there. HANDLE: gives a new
// handle. NUMBER: gives a handle that is a number. NO_BYTES: answers through its n-th parameter that no workspace is
// needed, as a size_t; NO_BYTES_TWICE through that and the next (on the card, on the host); NO_COUNT as an int.
// UNSUPPORTED: the profiler, which then traces the host alone.
namespace {

/// Zero behind parameter n, one or more of a call's, all of them pointers or passed like one.
template <class Size>
int zero(int n, int times, void* const (&all)[24]) {
  for (int i = 0; i < times; ++i) put<Size>(all[n - 1 + i], 0, 0);
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

#define STUB(name)                                 \
  namespace {                                      \
  constinit Stub stub_##name{#name, {0}, nullptr}; \
  }
#define SUCCEED(name) \
  VGPU_EXPORT int name() { return kSuccess; }
#define GUESS(name) \
  STUB(name)        \
  VGPU_EXPORT int name() { return stub_##name.reached(); }
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
#define NO_BYTES(name, n) \
  VGPU_EXPORT int name(PARAMETERS) { return zero<size_t>(n, 1, ALL); }
#define NO_BYTES_TWICE(name, n) \
  VGPU_EXPORT int name(PARAMETERS) { return zero<size_t>(n, 2, ALL); }
#define NO_COUNT(name, n) \
  VGPU_EXPORT int name(PARAMETERS) { return zero<int>(n, 1, ALL); }
#define UNSUPPORTED(name) \
  VGPU_EXPORT int name() { return kCuptiNotSupported; }

#include "virtualgpu/calls.inc"
