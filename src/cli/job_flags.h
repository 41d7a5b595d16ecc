// The flags that describe a job, shared by the commands that take one.
#pragma once
#include "cli/card_flags.h"
#include "cli/model_flags.h"
#include "cli/run_flags.h"

namespace vramplan {

class JobFlags {
 public:
  std::vector<Flag> flags();
  /// Throws UserError.
  Job job(const Context& context) const;

 private:
  ModelFlags model_;
  RunFlags run_;
  CardFlags card_;
};

}  // namespace vramplan
