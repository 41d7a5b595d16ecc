#include "cli/commands.h"

#include <algorithm>

namespace vramplan {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> c;
  c.push_back(estimate_command());
  c.push_back(batch_command());
  c.push_back(plan_command());
  c.push_back(sheet_command());
  c.push_back(curve_command());
  c.push_back(compare_command());
  c.push_back(explain_command());
  c.push_back(timeline_command());
  c.push_back(probe_command());
  c.push_back(rehearse_command());
  c.push_back(validate_command());
  c.push_back(gpus_command());
  c.push_back(models_command());
  c.push_back(schema_command());
  c.push_back(completions_command());
  c.push_back(manual_command());
  c.push_back(complete_command());
  return c;
}

std::string long_name(const Flag& f) { return f.names.substr(std::min(f.names.find("--"), f.names.find(',') + 1)); }

const Flag* find_flag(const std::vector<Flag>& flags, const std::string& word) {
  for (const Flag& f : flags)
    if (word.size() > 1 && (long_name(f) == word || f.names.starts_with(word + ","))) return &f;
  return nullptr;
}

std::vector<Flag> flags_of(Command& command, GlobalValues& values) {
  std::vector<Flag> all = command.flags();
  const std::string o = "Output";
  if (!command.writes_json_itself())
    all.push_back({"--json", "", "one JSON document on standard output, errors too", &values.json, o});
  all.push_back({"-q,--quiet", "", "print no result: the exit status tells", &values.quiet, o, true});
  all.push_back({"--color", "WHEN", "auto, always, never (default: auto)", &values.colour, o, true});
  all.push_back({"--data-dir", "DIR", "use this folder instead of the data compiled in", &values.data_dir, o, true});
  return all;
}

}  // namespace vramplan
