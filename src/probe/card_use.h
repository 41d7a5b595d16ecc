// How much of a card is used, from one moment to the next: by this process where the driver tells it, else by all.
#pragma once
#include <string>

#include "probe/nvml.h"

namespace vramplan {

class CardUse {
 public:
  /// `nvml` must outlive this. Throws UserError when it tells nothing.
  CardUse(const Nvml& nvml, NvmlDevice device) : nvml_(nvml), device_(device), before_(now()) {}

  Bytes now();
  /// Since the call before, or since the start; nothing when it is less.
  Bytes more();
  /// The process has a line of its own, since it has a context.
  bool by_process() const { return by_process_; }

 private:
  const Nvml& nvml_;
  NvmlDevice device_;
  bool by_process_ = false;
  Bytes before_;
};

/// NVML counts cards by PCI address, CUDA by speed, and CUDA sees one instance of a divided card: they meet by this
/// name of the driver's, "GPU-0011...". The card of CUDA's number where it is not there.
NvmlDevice nvml_device(const Nvml& nvml, const std::string& uuid, int number);

}  // namespace vramplan
