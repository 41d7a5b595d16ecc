#include "probe/card_use.h"

#include <unistd.h>

#include "vramplan/base/error.h"

namespace vramplan {

Bytes CardUse::now() {
  if (const auto list = nvml_.processes(device_))
    for (const CardProcess& p : *list)
      if (p.pid == getpid() && p.used) {
        by_process_ = true;
        return *p.used;
      }
  if (by_process_) return {};
  const auto memory = nvml_.memory(device_);
  if (!memory) throw UserError("the driver does not tell how much memory is used", "NVML", "");
  return memory->used;
}

Bytes CardUse::more() {
  const bool own_before = by_process_;
  const Bytes after = now(), before = by_process_ && !own_before ? Bytes() : before_;  // no line before a context
  before_ = after;
  return after > before ? after - before : Bytes();
}

NvmlDevice nvml_device(const Nvml& nvml, const std::string& uuid, int number) {
  const auto bare = [](const std::string& name) { return name.substr(std::min<std::size_t>(name.size(), 4)); };
  for (const NvmlDevice& d : nvml.devices())
    if (bare(nvml.card(d).uuid) == bare(uuid)) return d;  // "GPU-" or "MIG-"
  return number;
}

}  // namespace vramplan
