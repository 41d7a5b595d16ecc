// A subcommand as a table of flags and a function. Only app.cpp knows the option parser; every value arrives as text
// and is parsed by the project's own strict readers.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "vramplan/base/error.h"

namespace vramplan {

struct Flag {
  std::string names;  ///< "-b,--micro-batch"; without a dash: positional
  std::string value;  ///< how the value is shown in help; empty for a switch; in brackets when it may be left out
  std::string help;
  std::variant<std::string*, bool*, std::vector<std::string>*> target;
  std::string group = "Options";
  bool rare = false;    ///< only --help-all shows it
  bool writes = false;  ///< names a file that is written
};

/// "--micro-batch" of "-b,--micro-batch"; a positional's name as it is.
std::string long_name(const Flag& f);
/// The one that a word of the command line names, long or short; null when none does.
const Flag* find_flag(const std::vector<Flag>& flags, const std::string& word);

/// What every subcommand gets.
struct Context {
  std::string data_dir;
  bool json = false;
  bool colour = false;
  bool utf8 = true;
  bool quiet = false;
  std::string command;             ///< as it was typed
  std::vector<std::string> typed;  ///< the flags that were typed, as "--micro-batch"
  std::vector<std::string> rest;   ///< what stands behind --
};

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  virtual std::string examples() const = 0;
  virtual std::vector<Flag> flags() = 0;
  /// Has a --json of its own, which names a file.
  virtual bool writes_json_itself() const { return false; }
  /// Not listed in help.
  virtual bool hidden() const { return false; }
  /// Has a use for what stands behind --.
  virtual bool takes_rest() const { return false; }
  /// Prints the result on standard output. Throws UserError.
  virtual Exit run(const Context& context) = 0;
};

std::unique_ptr<Command> estimate_command();
std::unique_ptr<Command> explain_command();
std::unique_ptr<Command> compare_command();
std::unique_ptr<Command> timeline_command();
std::unique_ptr<Command> batch_command();
std::unique_ptr<Command> plan_command();
std::unique_ptr<Command> probe_command();
std::unique_ptr<Command> rehearse_command();
std::unique_ptr<Command> curve_command();
std::unique_ptr<Command> validate_command();
std::unique_ptr<Command> gpus_command();
std::unique_ptr<Command> models_command();
std::unique_ptr<Command> sheet_command();
std::unique_ptr<Command> schema_command();
std::unique_ptr<Command> completions_command();
std::unique_ptr<Command> complete_command();
std::unique_ptr<Command> manual_command();

/// Parse and run; returns the exit status. Never throws.
int run_app(int argc, char** argv);

}  // namespace vramplan
