#include "virtualgpu/stubs.h"

#include "virtualgpu/abi.h"
#include "virtualgpu/settings.h"

using namespace virtualgpu;

namespace {

std::atomic<Stub*> newest{nullptr};
constexpr int kNotSupported = 801, kCuptiNotSupported = 27;

}  // namespace

int Stub::reached() {
  if (times++ == 0) {
    next = newest;
    while (!newest.compare_exchange_weak(next, this)) {
    }
  }
  return settings().strict ? kNotSupported : kSuccess;
}

const Stub* virtualgpu::reached_stubs() { return newest; }

// SUCCEED: nothing is expected back. GUESS: something is, and its caller finds what it put there. HANDLE: gives a new
// handle. NUMBER: gives a handle that is a number. NO_BYTES: answers that no workspace is needed, through the n-th
// parameter. UNSUPPORTED: the profiler, which then traces the host alone.
namespace {

/// The n-th of a call's parameters, all of them pointers or passed like one.
void* parameter(int n, void* const (&first)[12]) { return first[n - 1]; }

}  // namespace

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
#define NO_BYTES(name, n)                                                                                        \
  VGPU_EXPORT int name(void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j, \
                       void* k, void* l) {                                                                       \
    put<size_t>(parameter(n, {a, b, c, d, e, f, g, h, i, j, k, l}), 0, 0);                                       \
    return kSuccess;                                                                                             \
  }
#define UNSUPPORTED(name) \
  VGPU_EXPORT int name() { return kCuptiNotSupported; }

#include "virtualgpu/calls.inc"
