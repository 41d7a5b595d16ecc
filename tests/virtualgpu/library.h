// The virtual GPU as a program meets it: a library opened by name, called through prototypes of our own.
#pragma once
#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace vramplan::test {

/// Two cards of 1 GiB unless the environment says otherwise, of which the context takes 64 MiB each, capability 9.0.
inline void* virtual_gpu() {
  static void* const library = [] {
    setenv("VGPU_MEMORY", "1073741824", 0);
    setenv("VGPU_CONTEXT", "67108864", 1);
    setenv("VGPU_CARDS", "2", 1);
    setenv("VGPU_CAPABILITY", "9.0", 1);
    setenv("VGPU_MULTIPROCESSORS", "132", 1);
    setenv("VGPU_L2", "52428800", 1);
    setenv("VGPU_BUS_BITS", "6144", 1);
    setenv("VGPU_CLOCK", "1785000", 1);
    setenv("VGPU_MEMORY_CLOCK", "3201000", 1);
    setenv("VGPU_NAME", "A card of tests", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    void* const l = dlopen(VIRTUALGPU_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!l) throw std::runtime_error(dlerror());
    return l;
  }();
  return library;
}

/// call<int(void**, size_t)>("cudaMalloc")
template <class Signature>
Signature* call(const char* name) {
  void* const f = dlsym(virtual_gpu(), name);
  if (!f) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Signature*>(f);
}

}  // namespace vramplan::test
