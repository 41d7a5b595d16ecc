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
  /// Sets a flag that takes a value, by its name with dashes, as if it had been given. Throws UserError for an unknown
  /// one.
  void set(const std::string& flag, const std::string& value);
  bool given(const std::string& flag);

 private:
  std::string& text_of(const std::string& flag);

  ModelFlags model_;
  RunFlags run_;
  CardFlags card_;
};

}  // namespace vramplan
