// A library in the place of the CUDA driver, of cuBLAS and of NVRTC, which books what it gives in the table that the
// stand-in of NVML reads, and runs our own kernels on the CPU. STAND_IN_... : CUINIT, a status; TABLE, that file;
// LARGEST, bytes of the largest block that can be had at once; FAIL_AT, the number of the allocation that finds no
// memory; CAPABILITY, of the card (90 for 9.0); NAME, its.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "backend/half.h"
#include "emulated_kernels.h"

#define CALL extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::uint64_t kTotal = 1u << 30, kContext = 300u << 20, kModule = 4u << 20, kHandle = 64u << 20;
constexpr int kOutOfMemory = 2, kNoDevice = 101;

std::uint64_t taken = 0;
int contexts = 0;
std::map<std::uint64_t, std::uint64_t> blocks;

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

int book(std::uint64_t more) {
  taken += more;
  if (const char* table = std::getenv("STAND_IN_TABLE"); table && !std::getenv("STAND_IN_SILENT"))
    std::ofstream(table) << getpid() << " " << taken << "\n";
  return 0;
}

bool workspace_set = false;
bool blocks_hold(const void* p, std::uint64_t size) {
  const auto address = reinterpret_cast<std::uint64_t>(p);
  auto after = blocks.upper_bound(address);
  return after != blocks.begin() && address + size <= std::prev(after)->first + std::prev(after)->second;
}

/// Types by their numbers in library_types.h: 0 fp32, 2 fp16, 14 bf16.
float number_at(const void* data, int type, long long i) {
  if (type == 0) return static_cast<const float*>(data)[i];
  const std::uint16_t half = static_cast<const std::uint16_t*>(data)[i];
  return type == 2 ? vramplan::host::from_fp16(half) : vramplan::host::from_bf16(half);
}
void put_number(void* data, int type, long long i, float x) {
  if (type == 0)
    static_cast<float*>(data)[i] = x;
  else
    static_cast<std::uint16_t*>(data)[i] = type == 2 ? vramplan::host::to_fp16(x) : vramplan::host::to_bf16(x);
}

}  // namespace

CALL int cuInit(unsigned) { return static_cast<int>(number("STAND_IN_CUINIT", 0)); }
CALL int cuDeviceGetCount(int* n) { return *n = 1, 0; }
CALL int cuDeviceGet(int* d, int i) { return *d = i, i == 0 ? 0 : kNoDevice; }
CALL int cuDeviceGetUuid_v2(unsigned char* bytes, int) {
  for (unsigned char i = 0; i < 16; ++i) bytes[i] = i;
  return 0;
}
CALL int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &taken;
  return contexts++ == 0 ? book(kContext) : 0;
}
CALL int cuDevicePrimaryCtxRelease_v2(int) {
  if (--contexts == 0) taken -= kContext;
  return 0;
}
CALL int cuModuleUnload(void*) {
  taken -= kModule;
  return 0;
}
CALL int cuCtxSetCurrent(void*) { return 0; }
CALL int cuModuleLoadData(void** module, const void* text) {
  *module = &taken;
  static constexpr unsigned kFatBinary = 0xba55ed50;
  const bool ours = std::memcmp(text, &kFatBinary, sizeof kFatBinary) == 0 ||
                    std::strcmp(static_cast<const char*>(text), "cubin") == 0;
  return ours || std::strstr(static_cast<const char*>(text), ".target sm_70") ? book(kModule) : 200;
}
CALL int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = const_cast<void*>(emulated::find_kernel(name));
  return *function ? 0 : 500;
}
CALL int cuLaunchKernel(void* kernel, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                        unsigned, void*, void** parameters, void**) {
  return emulated::launch(kernel, x, y, z, threads, parameters) ? 0 : 1;
}
CALL int cuCtxSynchronize() { return 0; }
CALL int cuDeviceGetName(char* name, int size, int) {
  const char* own = std::getenv("STAND_IN_NAME");
  return std::strncpy(name, own ? own : "Stand-in 1 GB", static_cast<std::size_t>(size)), 0;
}
CALL int cuDeviceGetAttribute(int* value, int which, int) {
  const auto capability = static_cast<int>(number("STAND_IN_CAPABILITY", 90));
  return *value = which == 75 ? capability / 10 : capability % 10, 0;
}
CALL int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t n) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), n), 0;  // NOLINT(performance-no-int-to-ptr)
}
CALL int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t n) {
  return std::memcpy(reinterpret_cast<void*>(to), from, n), 0;  // NOLINT(performance-no-int-to-ptr)
}
CALL int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = kTotal;
  *free = kTotal - taken;
  return 0;
}
CALL int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  static std::uint64_t calls = 0;
  if (++calls == number("STAND_IN_FAIL_AT", 0)) return kOutOfMemory;
  if (size > std::min(kTotal - taken, number("STAND_IN_LARGEST", kTotal))) return kOutOfMemory;
  constexpr std::size_t kAligned = 512;
  *address = reinterpret_cast<std::uint64_t>(std::aligned_alloc(kAligned, (size + kAligned - 1) / kAligned * kAligned));
  blocks[*address] = size;
  return book(size);
}
CALL int cuMemFree_v2(std::uint64_t address) {
  const auto block = blocks.find(address);
  if (block == blocks.end()) return 1;
  taken -= block->second;
  blocks.erase(block);
  std::free(reinterpret_cast<void*>(address));  // NOLINT(performance-no-int-to-ptr)
  return book(0);
}
CALL int cublasCreate_v2(void** handle) {
  static bool loaded = false;  // its kernels stay when the handle goes
  *handle = &taken;
  return std::exchange(loaded, true) ? 0 : book(kHandle);
}
CALL int cublasDestroy_v2(void*) { return 0; }
CALL int cublasSgemm_v2(void*, int, int, int n, int, int, const float*, const void* a, int, const void*, int,
                        const float*, void*, int) {
  return n == 512 && blocks.count(reinterpret_cast<std::uint64_t>(a)) ? 0 : 7;
}

CALL int cublasSetWorkspace_v2(void*, void* workspace, std::size_t size) {
  workspace_set = blocks_hold(workspace, size);
  return workspace_set ? 0 : 7;
}
/// As the library defines it, by columns; status 7 without a workspace on the card.
CALL int cublasGemmStridedBatchedEx(void*, int ta, int tb, int m, int n, int k, const float* alpha, const void* a,
                                    int a_type, int lda, long long a_step, const void* b, int b_type, int ldb,
                                    long long b_step, const float* beta, void* c, int c_type, int ldc, long long c_step,
                                    int batch, int compute, int) {
  if (!workspace_set || compute != (a_type == 0 ? 69 : 68)) return 7;
  for (long long x = 0; x < batch; ++x)
    for (long long j = 0; j < n; ++j)
      for (long long i = 0; i < m; ++i) {
        float sum = 0;
        for (long long d = 0; d < k; ++d)
          sum += number_at(a, a_type, x * a_step + (ta ? d + i * lda : i + d * lda)) *
                 number_at(b, b_type, x * b_step + (tb ? j + d * ldb : d + j * ldb));
        const long long at = x * c_step + i + j * ldc;
        put_number(c, c_type, at, *alpha * sum + (*beta != 0 ? *beta * number_at(c, c_type, at) : 0));
      }
  return 0;
}

// NVRTC: what it compiles is not looked at.
CALL int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
  return *program = &taken, 0;
}
CALL int nvrtcDestroyProgram(void**) { return 0; }
CALL int nvrtcCompileProgram(void*, int, const char* const*) { return 0; }
CALL int nvrtcGetProgramLogSize(void*, std::size_t* n) { return *n = 1, 0; }
CALL int nvrtcGetProgramLog(void*, char* text) { return *text = 0, 0; }
CALL int nvrtcGetCUBINSize(void*, std::size_t* n) { return *n = sizeof "cubin", 0; }
CALL int nvrtcGetCUBIN(void*, char* text) { return std::strcpy(text, "cubin"), 0; }
