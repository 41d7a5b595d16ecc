#include "cli/sources.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/suggest.h"
#include "read/data.h"

namespace vramplan {
namespace {

constexpr std::string_view kPrefix = "VRAMPLAN_";

std::string defaults_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config && *config) return std::string(config) + "/vramplan/defaults.json";
  return home && *home ? std::string(home) + "/.config/vramplan/defaults.json" : std::string();
}

std::string unknown_variable(const std::string& name, const std::vector<std::string>& known) {
  const std::string word = name.substr(kPrefix.size()), near = closest(word, known);
  return fmt::format("the environment's {} is no flag of a job{}", name,
                     near.empty() ? std::string() : fmt::format("; did you mean {}?", variable_of(near)));
}

JobFile environment_values(const std::vector<std::string>& known) {
  JobFile out;
  std::vector<std::string> variables(known.size());
  std::transform(known.begin(), known.end(), variables.begin(), variable_of);
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with(kPrefix)) continue;
    const std::string name(text.substr(0, text.find('=')));
    const std::string value(text.substr(std::min(text.size(), name.size() + 1)));
    const auto found = std::find(variables.begin(), variables.end(), name);
    if (found == variables.end())
      out.warnings.push_back(unknown_variable(name, known));
    else if (!value.empty())
      out.flags.push_back({known[static_cast<std::size_t>(found - variables.begin())], value, "environment " + name});
  }
  std::sort(out.flags.begin(), out.flags.end(), [](const GivenFlag& a, const GivenFlag& b) { return a.flag < b.flag; });
  return out;
}

}  // namespace

std::string variable_of(const std::string& flag) {
  std::string name(kPrefix);
  for (const char c : flag.substr(2)) name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

Ambient ambient_values(const std::vector<std::string>& known) {
  Ambient out;
  out.environment = environment_values(known);
  const std::string path = defaults_path();
  std::error_code unreadable;  // a home that is another's holds no defaults of ours
  if (!path.empty() && std::filesystem::exists(path, unreadable)) out.defaults = read_job_file(read_file(path), path);
  return out;
}

}  // namespace vramplan
