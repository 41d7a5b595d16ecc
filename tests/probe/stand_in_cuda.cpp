// A library in the place of the CUDA driver and of cuBLAS, which books what it gives in the table that the stand-in of
// NVML reads. STAND_IN_... : CUINIT, a status; TABLE, that file; LARGEST, bytes of the largest block that can be had at
// once.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#define CALL extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::uint64_t kTotal = 1u << 30, kContext = 300u << 20, kModule = 4u << 20, kHandle = 64u << 20;
constexpr int kOutOfMemory = 2, kNoDevice = 101;

std::uint64_t taken = 0;
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
  return book(kContext);
}
CALL int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
CALL int cuCtxSetCurrent(void*) { return 0; }
CALL int cuModuleLoadData(void** module, const void* text) {
  *module = &taken;
  return std::strstr(static_cast<const char*>(text), ".target sm_70") ? book(kModule) : 200;
}
CALL int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = kTotal;
  *free = kTotal - taken;
  return 0;
}
CALL int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  static std::uint64_t next = 1 << 20;
  if (size > std::min(kTotal - taken, number("STAND_IN_LARGEST", kTotal))) return kOutOfMemory;
  *address = next += 1 << 20;
  blocks[*address] = size;
  return book(size);
}
CALL int cuMemFree_v2(std::uint64_t address) {
  const std::uint64_t size = blocks.at(address);
  blocks.erase(address);
  taken -= size;
  return book(0);
}
CALL int cublasCreate_v2(void** handle) {
  *handle = &taken;
  return book(kHandle);
}
CALL int cublasDestroy_v2(void*) { return 0; }
CALL int cublasSgemm_v2(void*, int, int, int n, int, int, const float*, const void* a, int, const void*, int,
                        const float*, void*, int) {
  return n == 512 && blocks.count(reinterpret_cast<std::uint64_t>(a)) ? 0 : 7;
}
