// A library in the place of NVML, which plays what the environment says. STAND_IN_... : INIT, a status; STRIDE, bytes
// of a process record; MEMORY, v2, v1, none or lost; TABLE, a file of "pid bytes" lines, read at each call (what the
// card holds is their sum and 1 MiB); PROCESSES, list, denied or growing; ACCOUNTING, on, off or none;
// MIG, the number of instances that the card is divided into, whose memory the card itself does not tell then.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#define CALL extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::uint64_t kTotal = 1u << 30, kOwn = 1u << 20;
constexpr int kNotSupported = 3, kNoPermission = 4, kInsufficientSize = 7, kLost = 15;

std::string setting(const char* name, const char* otherwise) {
  const char* text = std::getenv((std::string("STAND_IN_") + name).c_str());
  return text ? text : otherwise;
}

std::map<std::uint32_t, std::uint64_t> table() {
  std::ifstream file(setting("TABLE", "/nonexistent"));
  std::map<std::uint32_t, std::uint64_t> out;
  std::uint32_t pid = 0;
  std::uint64_t bytes = 0;
  while (file >> pid >> bytes) out[pid] = bytes;
  return out;
}

std::uint64_t used() {
  std::uint64_t sum = kOwn;
  for (const auto& [pid, bytes] : table()) sum += bytes;
  return sum;
}

constexpr std::uintptr_t kInstance = 1000;
bool is_instance(void* device) { return reinterpret_cast<std::uintptr_t>(device) >= kInstance; }
unsigned instances() { return static_cast<unsigned>(std::atoi(setting("MIG", "0").c_str())); }

/// The most of each process so far, as accounting keeps it.
std::uint64_t peak_of(std::uint32_t pid, std::uint64_t now) {
  static std::mutex mutex;
  static std::map<std::uint32_t, std::uint64_t> peaks;
  const std::lock_guard lock(mutex);
  return peaks[pid] = std::max(peaks[pid], now);
}

}  // namespace

CALL int nvmlInit_v2() { return std::atoi(setting("INIT", "0").c_str()); }
CALL int nvmlShutdown() { return 0; }
CALL int nvmlSystemGetDriverVersion(char* s, unsigned n) { return std::strncpy(s, "580.00", n), 0; }
CALL int nvmlSystemGetCudaDriverVersion_v2(int* v) { return *v = 13000, 0; }
CALL int nvmlDeviceGetCount_v2(unsigned* n) { return *n = 1, 0; }
CALL int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** d) { return *d = reinterpret_cast<void*>(i + 1ul), 0; }
CALL int nvmlDeviceGetName(void* d, char* s, unsigned n) {
  return std::strncpy(s, is_instance(d) ? "Stand-in 1GB MIG 1g.1gb" : "Stand-in 1GB", n), 0;
}
CALL int nvmlDeviceGetUUID(void* d, char* s, unsigned n) {
  return std::strncpy(s, is_instance(d) ? "MIG-0001" : "GPU-0000", n), 0;
}
CALL int nvmlDeviceGetMemoryInfo(void* d, std::uint64_t* m) {
  if (instances() > 0 && !is_instance(d)) return kNoPermission;
  const std::string how = setting("MEMORY", "v2");
  if (how == "none") return kNotSupported;
  if (how == "lost" && used() > kOwn) return kLost;
  m[0] = kTotal, m[2] = used(), m[1] = kTotal - m[2];
  return 0;
}
CALL int nvmlDeviceGetMemoryInfo_v2(void* d, std::uint64_t* m) {
  if (instances() > 0 && !is_instance(d)) return kNoPermission;
  if (setting("MEMORY", "v2") != "v2") return kNotSupported;
  if (static_cast<std::uint32_t>(m[0]) != 0x02000028) return 25;
  m[1] = kTotal, m[2] = kOwn, m[4] = used() - kOwn, m[3] = kTotal - m[2] - m[4];
  return 0;
}
CALL int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* n, unsigned char* records) {
  const std::string how = setting("PROCESSES", "list");
  if (how == "denied") return kNoPermission;
  const auto now = table();
  const unsigned room = *n;
  *n = static_cast<unsigned>(now.size());
  static int calls = 0;
  if (how == "growing" && ++calls % 2) {  // it grew between asking for its length and asking for it
    *n = room + 1;
    return kInsufficientSize;
  }
  const std::size_t stride = static_cast<std::size_t>(std::atoi(setting("STRIDE", "24").c_str()));
  for (const auto& [pid, bytes] : now) {
    std::memset(records, 0, stride);
    std::memcpy(records, &pid, sizeof pid);
    std::memcpy(records + 8, &bytes, sizeof bytes);
    records += stride;
    peak_of(pid, bytes);
  }
  return 0;
}
CALL int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* pending) {
  return *now = *pending = instances() > 0, instances() > 0 ? 0 : kNotSupported;
}
CALL int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* n) { return *n = instances() > 0 ? 7 : 0, 0; }
CALL int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned i, void** d) {
  constexpr int kNotFound = 6;
  if (i % 2 || i / 2 >= instances()) return kNotFound;  // indices have holes
  return *d = reinterpret_cast<void*>(kInstance + i), 0;
}
CALL int nvmlDeviceGetAccountingMode(void*, int* on) {
  const std::string how = setting("ACCOUNTING", "off");
  *on = how == "on";
  return how == "none" ? kNotSupported : 0;
}
CALL int nvmlDeviceGetAccountingStats(void*, unsigned pid, unsigned char* stats) {
  if (setting("ACCOUNTING", "off") != "on") return kNotSupported;
  const std::uint64_t peak = peak_of(pid, 0);
  std::memset(stats, 0, 56);
  std::memcpy(stats + 8, &peak, sizeof peak);
  return 0;
}
