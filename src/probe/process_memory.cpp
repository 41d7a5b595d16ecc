#include "probe/process_memory.h"

#include <fstream>
#include <string>

namespace vramplan {
namespace {

/// "VmHWM:   1234 kB"
std::optional<Bytes> line_of(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string key; in >> key;) {
    std::uint64_t kib = 0;
    if (key == name + ":" && in >> kib) return Bytes(kib * 1024);
    std::getline(in, key);
  }
  return std::nullopt;
}

}  // namespace

Bytes resident_now() { return line_of("/proc/self/status", "VmRSS").value_or(Bytes()); }
Bytes resident_highest() { return line_of("/proc/self/status", "VmHWM").value_or(Bytes()); }
std::optional<Bytes> memory_available() { return line_of("/proc/meminfo", "MemAvailable"); }

}  // namespace vramplan
