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
  Card named_card(const Context& context) const;
  std::optional<Card> card(const Context& context) const;

  bool allocator_map_ = false;
  std::string gpu_, gpu_memory_, gpu_file_, mig_, allocator_, reserve_, fraction_, calibration_;
};

}  // namespace vramplan
