// The cards of this machine as their driver sees them, and who uses them.
#pragma once
#include <string>
#include <vector>

#include "probe/nvml.h"

namespace vramplan {

struct DeviceProcess {
  CardProcess process;
  std::string command;  ///< empty: not visible from here (a process of another container, or of the host)
};

struct DeviceFacts {
  int index = 0;  ///< of the card, or of an instance of it
  NvmlCard card;
  std::optional<CardMemory> memory;
  std::string no_memory;  ///< why the memory is not known
  std::optional<std::vector<DeviceProcess>> processes;
  std::string no_processes;
  std::vector<DeviceFacts> instances;  ///< of MIG
};

struct DeviceReport {
  std::string driver;
  int cuda = 0;
  std::vector<DeviceFacts> cards;
};

/// Throws UserError as `Nvml` does.
DeviceReport device_report();

}  // namespace vramplan
