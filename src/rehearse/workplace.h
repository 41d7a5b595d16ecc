// A folder of a run's own: Python files that are put before a program's modules, and the reports that they write. Gone
// at the end.
#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace vramplan {

using HookFiles = std::map<std::string, std::string>;  ///< name to content

class Workplace {
 public:
  /// Throws UserError when no folder can be made.
  explicit Workplace(const HookFiles& hook);
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// What comes first in a list of folders that the environment may have already.
std::string prepended(const std::string& first, const char* variable);

}  // namespace vramplan
