// Where a CUDA toolkit is installed, its headers are asked directly.
#include <doctest/doctest.h>

#if __has_include(<cuda.h>) && __has_include(<driver_types.h>)
#include <cuda.h>
#include <driver_types.h>

#include <cstddef>

TEST_CASE("the structures of the installed toolkit are as written down") {
  CHECK(offsetof(CUmemAllocationProp, location.id) == 12);
  CHECK(offsetof(cudaPointerAttributes, devicePointer) == 8);
  CHECK(offsetof(cudaPointerAttributes, hostPointer) == 16);
  CHECK(offsetof(cudaFuncAttributes, maxThreadsPerBlock) == 24);
  CHECK(offsetof(cudaFuncAttributes, ptxVersion) == 32);
  CHECK(offsetof(cudaDeviceProp, major) == 360);
#if CUDART_VERSION >= 13000 || CUDA_VERSION >= 13000
  CHECK(sizeof(cudaDeviceProp) == 1008);
  CHECK(offsetof(cudaDeviceProp, multiProcessorCount) == 384);
  CHECK(offsetof(cudaDeviceProp, sharedMemPerBlockOptin) == 672);
#else
  CHECK(sizeof(cudaDeviceProp) == 1032);
  CHECK(offsetof(cudaDeviceProp, multiProcessorCount) == 388);
  CHECK(offsetof(cudaDeviceProp, sharedMemPerBlockOptin) == 696);
#endif
  CHECK(cudaDevAttrMultiProcessorCount == 16);
  CHECK(cudaDevAttrMaxSharedMemoryPerBlockOptin == 97);
  CHECK(cudaDevAttrComputeCapabilityMajor == 75);
  CHECK(cudaErrorMemoryAllocation == 2);
  CHECK(cudaErrorInvalidDevice == 101);
}
#else
TEST_CASE("the structures of the installed toolkit") { MESSAGE("no CUDA toolkit here: headers not compared"); }
#endif
