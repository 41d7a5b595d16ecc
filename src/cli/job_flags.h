// The flags that describe a job, shared by the commands that take one, and where their values come from: the command
// line, then a job file, the environment, the user's defaults file.
#pragma once
#include <map>

#include "cli/card_flags.h"
#include "cli/model_flags.h"
#include "cli/run_flags.h"
#include "cli/sources.h"

namespace vramplan {

class JobFlags {
 public:
  std::vector<Flag> flags();

  /// Lays the values of the job file, the environment and the defaults under those that were typed, and reads the files
  /// that flags name. A value that contradicts a higher one (--checkpoint under --segments) is left out. Once, before
  /// anything below. Throws UserError.
  void complete(const Context& context);
  void complete(const Ambient& ambient, const std::vector<std::string>& typed = {});

  /// Throws UserError.
  Job job(const Context& context) const;

  /// The same in parts: what the model's flags and the card's flags say, and the job from both and the run's flags.
  Job model(const Context& context) const;
  Job card(const Context& context) const;
  Job job(const Job& model, const Job& card) const;
  /// All values of the model's flags, of the card's flags: equal keys read alike.
  std::string model_key();
  std::string card_key();

  /// Sets a flag by its name with dashes, as if it had been typed; a switch by true, false, yes, no, 1, 0 or nothing;
  /// no value takes a flag away. Throws UserError for an unknown one.
  void set(const std::string& flag, const std::string& value);
  /// The same, and takes away what contradicts it, whoever said that.
  void replace(const std::string& flag, const std::string& value);
  /// Flags as words of a command line: "--checkpoint", "per-layer", "--amsgrad=false", "-b", "4"; "--optimizer=" takes
  /// one away.
  void change(const std::vector<std::string>& words);
  bool given(const std::string& flag);
  /// All that have a value, in the order of help.
  std::vector<GivenFlag> given() const;
  /// These, and those that have none with their default as help tells it; no value where there is none.
  std::vector<GivenFlag> all() const;

 private:
  /// `where`: who names it.
  Flag named(const std::string& flag, const std::string& where = {});
  void lay_under(const std::vector<GivenFlag>& values);
  void read_files();

  ModelFlags model_;
  RunFlags run_;
  CardFlags card_;
  std::string job_file_;
  std::map<std::string, std::string> origins_;  ///< of values that were not typed, by flag
  std::vector<std::string> typed_, warnings_;
  bool complete_ = false;
};

/// Two flags that say the same thing in different ways: --segments and --checkpoint.
bool contradict(std::string_view flag, std::string_view other);

/// The values that nobody typed. Throws UserError.
Ambient ambient_of_jobs();

}  // namespace vramplan
