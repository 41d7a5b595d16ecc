// The flags that name a card and how its memory is managed.
#pragma once
#include "cli/command.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

class CardFlags {
 public:
  std::vector<Flag> flags();
  /// Sets the job's card, allocator, reserve and the device that kernels are chosen for. Throws UserError.
  void read(const Context& context, Job& job) const;

 private:
  bool allocator_map_ = false;
  std::string gpu_, gpu_memory_, allocator_, reserve_;
};

}  // namespace vramplan
