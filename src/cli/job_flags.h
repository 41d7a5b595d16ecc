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

  /// The same in parts: what the model's flags and the card's flags say, and the job from both and the run's flags.
  Job model(const Context& context) const;
  Job card(const Context& context) const;
  Job job(const Job& model, const Job& card) const;
  /// All values of the model's flags, of the card's flags: equal keys read alike.
  std::string model_key();
  std::string card_key();

  /// Sets a flag by its name with dashes, as if it had been given; a switch by true, false, yes, no, 1, 0 or nothing.
  /// Throws UserError for an unknown one.
  void set(const std::string& flag, const std::string& value);
  bool given(const std::string& flag);

 private:
  Flag named(const std::string& flag);

  ModelFlags model_;
  RunFlags run_;
  CardFlags card_;
};

}  // namespace vramplan
