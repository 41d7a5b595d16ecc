#include "probe/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/shared_library.h"
#include "backend/status_words.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using Device = void*;
constexpr int kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kInsufficientSize = 7, kGpuLost = 15;

constexpr StatusWord kWords[]{
    {1, "NVML is not initialised", ""},
    {kNotSupported, "this card does not support it", ""},
    {kNoPermission, "no permission", "run as root, or ask for the device nodes"},
    {9, "the NVIDIA driver is not loaded", "load it: modprobe nvidia, or start the machine with a GPU"},
    {12, "a library of the driver is missing",
     "install the driver's libraries of the same version as its kernel module"},
    {13, "this driver is too old for the call", ""},
    {kGpuLost, "the GPU has fallen off the bus", "reset it or restart the machine"},
    {17, "the operating system blocks the GPU", "check the container's device permissions"},
    {18, "driver and library have different versions", "restart the machine after the driver's update"},
    {25, "a structure of another version", ""},
    {999, "an unknown error of the driver", ""}};

std::string meaning(int code) { return fmt::format("{} (NVML status {})", word_of(kWords, code).meaning, code); }

struct MemoryV1 {
  std::uint64_t total, free, used;
};
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40);
constexpr std::uint32_t kMemoryV2 = 40 | 2u << 24;

struct AccountingStats {
  std::uint32_t gpu, memory;
  std::uint64_t max_memory, time, start;
  std::uint32_t running, reserved[5];
};
static_assert(sizeof(AccountingStats) == 56);

using List = int(Device, unsigned*, void*);

}  // namespace

std::size_t record_size(const std::vector<unsigned char>& buffer, unsigned char mark, std::size_t count) {
  std::size_t end = buffer.size();
  while (end > 0 && buffer[end - 1] == mark) --end;
  for (const std::size_t size : {std::size_t{16}, std::size_t{24}})
    if (end <= size * count) return size;
  return 32;
}

struct Nvml::Calls {
  SharedLibrary library{{"libnvidia-ml.so.1"}, "PROBE_STAND_IN_NVML"};
  int (*shutdown)() = library.find<int()>({"nvmlShutdown"});
  int (*driver)(char*, unsigned) = library.find<int(char*, unsigned)>({"nvmlSystemGetDriverVersion"});
  int (*cuda)(int*) = library.find<int(int*)>({"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  int (*count)(unsigned*) = library.find<int(unsigned*)>({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  int (*handle)(unsigned, Device*) = library.find<int(unsigned, Device*)>({"nvmlDeviceGetHandleByIndex_v2",
                                                                           "nvmlDeviceGetHandleByIndex"});
  int (*name)(Device, char*, unsigned) = library.find<int(Device, char*, unsigned)>({"nvmlDeviceGetName"});
  int (*uuid)(Device, char*, unsigned) = library.find<int(Device, char*, unsigned)>({"nvmlDeviceGetUUID"});
  int (*memory_v2)(Device, MemoryV2*) = library.find<int(Device, MemoryV2*)>({"nvmlDeviceGetMemoryInfo_v2"});
  int (*memory)(Device, MemoryV1*) = library.find<int(Device, MemoryV1*)>({"nvmlDeviceGetMemoryInfo"});
  int (*mig)(Device, unsigned*, unsigned*) = library.find<int(Device, unsigned*, unsigned*)>({"nvmlDeviceGetMigMode"});
  int (*parts)(Device, unsigned*) = library.find<int(Device, unsigned*)>({"nvmlDeviceGetMaxMigDeviceCount"});
  int (*part)(Device, unsigned,
              Device*) = library.find<int(Device, unsigned, Device*)>({"nvmlDeviceGetMigDeviceHandleByIndex"});
  int (*accounting)(Device, int*) = library.find<int(Device, int*)>({"nvmlDeviceGetAccountingMode"});
  int (*accounted)(Device, unsigned, AccountingStats*) =
      library.find<int(Device, unsigned, AccountingStats*)>({"nvmlDeviceGetAccountingStats"});
  std::array<List*, 2> lists{
      library.find<List>({"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
                          "nvmlDeviceGetComputeRunningProcesses"}),
      library.find<List>({"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                          "nvmlDeviceGetMPSComputeRunningProcesses"})};

  Device device(NvmlDevice which) const {
    Device d = nullptr;
    int status = handle(static_cast<unsigned>(which.card), &d);
    if (status == kSuccess && which.instance >= 0) status = part(d, static_cast<unsigned>(which.instance), &d);
    if (status != kSuccess)
      throw UserError(meaning(status), fmt::format("GPU {}", which.card), word_of(kWords, status).next);
    return d;
  }

  /// Adds what one list has; its status.
  static int add(List* list, Device d, std::vector<CardProcess>& out) {
    constexpr unsigned char kMark = 0xA5;
    constexpr std::size_t kWidest = 32;
    constexpr int kTries = 5;
    unsigned slots = 64;
    for (int i = 0; i < kTries; ++i, slots *= 2) {  // the list may grow between two calls
      std::vector<unsigned char> buffer(slots * kWidest, kMark);
      unsigned n = slots;
      const int status = list(d, &n, buffer.data());
      if (status == kInsufficientSize) {
        slots = std::max(slots, n);
        continue;
      }
      if (status != kSuccess || n == 0) return status;
      const std::size_t size = record_size(buffer, kMark, n);
      for (std::size_t r = 0; r < n; ++r) {
        std::uint32_t pid = 0;
        std::uint64_t used = 0;
        std::memcpy(&pid, &buffer[r * size], sizeof pid);
        std::memcpy(&used, &buffer[r * size + 8], sizeof used);
        out.push_back({pid, used == UINT64_MAX ? std::nullopt : std::optional(Bytes(used))});
      }
      return kSuccess;
    }
    return kInsufficientSize;
  }
};

Nvml::Nvml() : calls_(std::make_unique<Calls>()) {
  const SharedLibrary& l = calls_->library;
  if (!l.opened())
    throw UserError(fmt::format("no NVIDIA driver here: {}", l.why_not()), "libnvidia-ml.so.1",
                    "install the driver; in a container, give it the GPU (--gpus all)");
  auto* init = l.find<int()>({"nvmlInit_v2", "nvmlInit"});
  if (!init || !calls_->count || !calls_->handle || !calls_->name || !calls_->memory)
    throw UserError("this library lacks calls that every driver has", "libnvidia-ml.so.1", "is it NVIDIA's?");
  if (const int status = init(); status != kSuccess)
    throw UserError(meaning(status), "libnvidia-ml.so.1", word_of(kWords, status).next);
}

Nvml::~Nvml() {
  if (calls_->shutdown) calls_->shutdown();
}

std::string Nvml::driver() const {
  char text[96] = "";
  return calls_->driver && calls_->driver(text, sizeof text) == kSuccess ? text : "";
}

int Nvml::cuda() const {
  int version = 0;
  return calls_->cuda && calls_->cuda(&version) == kSuccess ? version : 0;
}

int Nvml::count() const {
  unsigned n = 0;
  if (const int status = calls_->count(&n); status != kSuccess)
    throw UserError(meaning(status), "libnvidia-ml.so.1", word_of(kWords, status).next);
  return static_cast<int>(n);
}

std::vector<NvmlDevice> Nvml::instances(int card) const {
  std::vector<NvmlDevice> out;
  unsigned most = 0;
  const Device d = calls_->device(card);
  if (!calls_->parts || !calls_->part || calls_->parts(d, &most) != kSuccess) return out;
  for (unsigned i = 0; i < most; ++i)
    if (Device part = nullptr; calls_->part(d, i, &part) == kSuccess) out.emplace_back(card, static_cast<int>(i));
  return out;
}

std::vector<NvmlDevice> Nvml::devices() const {
  std::vector<NvmlDevice> out;
  for (int card = 0; card < count(); ++card) {
    const std::vector<NvmlDevice> parts = instances(card);
    if (parts.empty()) out.emplace_back(card);
    out.insert(out.end(), parts.begin(), parts.end());
  }
  return out;
}

NvmlCard Nvml::card(NvmlDevice device) const {
  NvmlCard c;
  const Device d = calls_->device(device);
  char text[96] = "";
  if (calls_->name(d, text, sizeof text) == kSuccess) c.name = text;
  if (calls_->uuid && calls_->uuid(d, text, sizeof text) == kSuccess) c.uuid = text;
  unsigned now = 0, pending = 0;
  if (calls_->mig && calls_->mig(d, &now, &pending) == kSuccess) c.mig = now != 0;
  int on = 0;
  if (calls_->accounting && calls_->accounting(d, &on) == kSuccess) c.accounting = on != 0;
  return c;
}

std::optional<CardMemory> Nvml::memory(NvmlDevice device, std::string* why) const {
  const Device d = calls_->device(device);
  MemoryV2 two{kMemoryV2, 0, 0, 0, 0};
  if (calls_->memory_v2 && calls_->memory_v2(d, &two) == kSuccess)
    return CardMemory{Bytes(two.total), Bytes(two.free), Bytes(two.used), Bytes(two.reserved),
                      two.used + two.free + two.reserved == two.total};
  MemoryV1 one{};
  const int status = calls_->memory(d, &one);
  if (status == kSuccess)
    return CardMemory{Bytes(one.total), Bytes(one.free), Bytes(one.used), std::nullopt,
                      one.used + one.free == one.total};
  if (why) *why = meaning(status);
  return std::nullopt;
}

std::optional<std::vector<CardProcess>> Nvml::processes(NvmlDevice device, std::string* why) const {
  const Device d = calls_->device(device);
  std::vector<CardProcess> out;
  bool told = false;
  for (List* list : calls_->lists) {
    if (!list) continue;
    const int status = Calls::add(list, d, out);
    told = told || status == kSuccess;
    if (status != kSuccess && why && !told) *why = meaning(status);
  }
  if (!told) return std::nullopt;
  std::sort(out.begin(), out.end(), [](const CardProcess& a, const CardProcess& b) { return a.pid < b.pid; });
  out.erase(
      std::unique(out.begin(), out.end(), [](const CardProcess& a, const CardProcess& b) { return a.pid == b.pid; }),
      out.end());
  return out;
}

std::optional<Bytes> Nvml::accounted_peak(NvmlDevice device, std::int64_t pid) const {
  AccountingStats stats{};
  if (!calls_->accounted) return std::nullopt;
  if (calls_->accounted(calls_->device(device), static_cast<unsigned>(pid), &stats) != kSuccess) return std::nullopt;
  return stats.max_memory == UINT64_MAX ? std::nullopt : std::optional(Bytes(stats.max_memory));
}

}  // namespace vramplan
