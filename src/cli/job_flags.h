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
  /// What has been read before and is taken over, for many jobs that differ in a few flags.
  struct Known {
    const Job* model = nullptr;  ///< with the same model flags
    const Job* card = nullptr;   ///< with the same card flags
  };
  Job job(const Context& context, const Known& known) const;
  /// Whether a flag, by its name with dashes, says something of the model, of the card.
  bool names_model(const std::string& flag);
  bool names_card(const std::string& flag);
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
