// Calls that should give something: what they give, and that those that cannot fail.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "virtualgpu/library.h"

using vramplan::test::call;

namespace {

std::size_t taken() {
  std::size_t free = 0, total = 0;
  call<int(std::size_t*, std::size_t*)>("cudaMemGetInfo")(&free, &total);
  return total - free;
}

}  // namespace

TEST_CASE("what is not known fails, and leaves memory alone") {
  const void* table = &table;
  CHECK(call<int(const void**, const void*)>("cuGetExportTable")(&table, nullptr) == 801);
  CHECK(table == &table);
  std::int64_t n[3] = {5, 6, 7};
  CHECK(call<int(void*, std::int64_t*, std::int64_t*, std::int64_t*)>("cusparseSpMatGetSize")(nullptr, n, n + 1,
                                                                                              n + 2) != 0);
  CHECK(n[2] == 7);
  CHECK(std::string(call<const char*(int)>("cudaGetErrorString")(801)) == "operation not supported");
  CHECK(std::string(call<const char*(int)>("cudaGetErrorString")(12345)) == "unrecognized error code");
}

TEST_CASE("statuses of every library have words") {
  for (const char* name :
       {"cublasGetStatusName", "cublasGetStatusString", "cublasLtGetStatusString", "cudnnGetErrorString",
        "cusparseGetErrorString", "cusparseGetErrorName", "ncclGetErrorString", "cusparseLtGetErrorString"})
    CHECK(std::strlen(call<const char*(int)>(name)(801)) > 3);
}

// Places of the parameters: cufft.h, cusolverDn.h, cusparse.h, cublas_api.h and cudnn_adv.h of CUDA 13.2.
TEST_CASE("every plan and buffer says how large it is, floats among the parameters or not") {
  std::size_t bytes = 7;
  CHECK(call<int(int, int, int*, int*, int, int, int*, int, int, int, int, std::size_t*)>("cufftMakePlanMany")(
            1, 1, nullptr, nullptr, 1, 1, nullptr, 1, 1, 0x29, 1, &bytes) == 0);
  CHECK(bytes == 0);
  bytes = 7;
  CHECK(call<int(int, std::size_t*)>("cufftGetSize")(1, &bytes) == 0);
  CHECK(bytes == 0);
  CHECK(call<int(int, std::size_t*)>("cufftGetSize")(1, nullptr) == 0);
  bytes = 7;
  CHECK(call<int(void*, int, void*, void*, void*, std::size_t*)>("cudnnGetCTCLossWorkspaceSize_v8")(
            nullptr, 0, nullptr, nullptr, nullptr, &bytes) == 0);
  CHECK(bytes == 0);
  int found = 7, size = 7;
  CHECK(call<int(void*, int, int, int, int, const float*, int, float, float, int, int, int*, const float*, int*)>(
            "cusolverDnSsyevdx_bufferSize")(nullptr, 0, 0, 0, 4, nullptr, 4, 0.5F, 1.5F, 0, 0, &found, nullptr,
                                            &size) == 0);
  CHECK(size == 0);
  CHECK(found == 7);
  bytes = 7;
  CHECK(call<int(void*, int, int, const float*, int, float, void*, const float*, const int*, const int*, void*,
                 std::size_t*)>("cusparseSpruneDense2csrByPercentage_bufferSizeExt")(
            nullptr, 4, 4, nullptr, 4, 50.0F, nullptr, nullptr, nullptr, nullptr, nullptr, &bytes) == 0);
  CHECK(bytes == 0);
  int info = 7;
  CHECK(call<int(void*, int, int, float* const*, int, float* const*, int*, int)>("cublasSgeqrfBatched")(
            nullptr, 4, 4, nullptr, 4, nullptr, &info, 2) == 0);
  CHECK(info == 0);
}

TEST_CASE("a number that cuBLAS gives to the host is written, one for the card is not") {
  const auto dot = call<int(void*, int, const float*, int, const float*, int, float*)>("cublasSdot_v2");
  float result = 7;
  CHECK(dot(nullptr, 4, nullptr, 1, nullptr, 1, &result) == 0);
  CHECK(result == 0);
  void* card = nullptr;
  CHECK(call<int(void**, std::size_t)>("cudaMalloc")(&card, 4) == 0);
  CHECK(dot(nullptr, 4, nullptr, 1, nullptr, 1, static_cast<float*>(card)) == 0);  // must not be touched
  CHECK(call<int(void*)>("cudaFree")(card) == 0);
}

TEST_CASE("whichever way memory is taken, it is counted") {
  const std::size_t before = taken();
  void* p = nullptr;
  std::size_t pitch = 0;
  CHECK(call<int(void**, std::size_t*, std::size_t, std::size_t)>("cudaMallocPitch")(&p, &pitch, 1000, 4096) == 0);
  CHECK(pitch == 1024);
  CHECK(taken() == before + (std::size_t{4} << 20));
  CHECK(call<int(void*)>("cudaFree")(p) == 0);
  for (const char* name : {"cuMemAllocManaged", "cuMemAllocAsync", "cuMemAllocFromPoolAsync"}) {
    std::uint64_t address = 0;
    CHECK(call<int(std::uint64_t*, std::size_t, void*, void*)>(name)(&address, 1, nullptr, nullptr) == 0);
    CHECK(taken() == before + (std::size_t{2} << 20));
    CHECK(call<int(std::uint64_t, void*)>("cuMemFreeAsync")(address, nullptr) == 0);
  }
  CHECK(taken() == before);
}

TEST_CASE("the driver's copies come back as zeros, and among the host's memory as they are") {
  std::uint64_t card = 0;
  CHECK(call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&card, 8) == 0);
  char from[8] = "seven..", to[8] = "unread.";
  CHECK(call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2")(card, from, 8) == 0);
  CHECK(call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2")(to, card, 8) == 0);
  for (const char c : to) CHECK(c == 0);
  CHECK(call<int(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int)>("cudaMemcpy2D")(
            to, 4, from, 4, 3, 2, 0) == 0);
  CHECK(std::memcmp(to, "sev\0n..", 7) == 0);
  CHECK(call<int(std::uint64_t)>("cuMemFree_v2")(card) == 0);
}

TEST_CASE("what is made has a handle of its own") {
  std::set<void*> handles;
  for (const char* name :
       {"cuLibraryLoadData", "cuModuleLoadFatBinary", "cuGraphCreate", "cuStreamCreate", "cudaMemPoolCreate"}) {
    void* h = nullptr;
    CHECK(call<int(void**, void*, void*)>(name)(&h, nullptr, nullptr) == 0);
    CHECK(handles.insert(h).second);
  }
}

TEST_CASE("the report names what failed, what was taken as none, and who asked") {
  const auto folder = std::filesystem::temp_directory_path() / "vramplan-virtualgpu-answers";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string program = "LD_PRELOAD=" VIRTUALGPU_LIBRARY " VGPU_MEMORY=100000000 VGPU_REPORT=" + folder.string() +
                              " python3 -c 'import ctypes; l = ctypes.CDLL(None); l.cuGetExportTable(None, None); "
                              "l.cufftGetSize(1, None); print(\"\")' \"q\\\"\"";
  CHECK(std::system((program + " > /dev/null").c_str()) == 0);
  std::string text;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    std::getline(in, text, '\0');
  }
  CHECK(text.find("\"stubs\":{\"cuGetExportTable\":1}") != std::string::npos);
  CHECK(text.find("\"workspaces\":{\"cufftGetSize\":1}") != std::string::npos);
  CHECK(text.find("python3\",\"-c\",\"import ctypes;") != std::string::npos);
  CHECK(text.find("\"q\\\"\"]") != std::string::npos);
  std::filesystem::remove_all(folder);
}
