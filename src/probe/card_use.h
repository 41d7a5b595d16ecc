// How much of a card is used, from one moment to the next: by this process where the driver tells it, else by all.
#pragma once
#include <string>

#include "probe/nvml.h"

namespace vramplan {

class CardUse {
 public:
  /// `nvml` must outlive this; `index` is its number of the card. Throws UserError when it tells nothing.
  CardUse(const Nvml& nvml, int index) : nvml_(nvml), index_(index), before_(now()) {}

  Bytes now();
  /// Since the call before, or since the start; nothing when it is less.
  Bytes more();
  /// The process has a line of its own, since it has a context.
  bool by_process() const { return by_process_; }

 private:
  const Nvml& nvml_;
  int index_;
  bool by_process_ = false;
  Bytes before_;
};

/// NVML counts cards by PCI address, CUDA by speed: they meet by this name. `otherwise` where it is not there.
int nvml_index(const Nvml& nvml, const std::string& uuid, int otherwise);

}  // namespace vramplan
