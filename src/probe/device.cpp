#include "probe/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace vramplan {
namespace {

/// As it was typed, shortened; empty when there is no such process in this namespace.
std::string command_of(std::int64_t pid) {
  constexpr std::size_t kLongest = 60;
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  std::replace(words.begin(), words.end(), '\0', ' ');
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words.size() > kLongest ? words.substr(0, kLongest) + "..." : words;
}

DeviceFacts facts_of(const Nvml& nvml, const NvmlDevice& device) {
  DeviceFacts f;
  f.index = device.instance >= 0 ? device.instance : device.card;
  f.card = nvml.card(device);
  f.memory = nvml.memory(device, &f.no_memory);
  if (const auto list = nvml.processes(device, &f.no_processes)) {
    f.processes.emplace();
    for (const CardProcess& p : *list) f.processes->push_back({p, command_of(p.pid)});
  }
  return f;
}

}  // namespace

DeviceReport device_report() {
  const Nvml nvml;
  DeviceReport r{nvml.driver(), nvml.cuda(), {}};
  for (int i = 0; i < nvml.count(); ++i) {
    r.cards.push_back(facts_of(nvml, i));
    for (const NvmlDevice& part : nvml.instances(i)) r.cards.back().instances.push_back(facts_of(nvml, part));
  }
  return r;
}

}  // namespace vramplan
