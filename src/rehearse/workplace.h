// A folder of a run's own: Python files that are put before a program's modules, and the reports that they write. Gone
// at the end.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "rehearse/signals.h"

namespace vramplan {

using HookFiles = std::map<std::string, std::string>;  ///< name to content

class Workplace {
 public:
  /// In TMPDIR, or where that cannot be, in /tmp. Throws UserError when no folder can be made, or filled.
  explicit Workplace(const HookFiles& hook);
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  std::string path() const { return path_.string(); }
  /// What processes wrote into it under names that end so, sorted. Throws UserError when the folder is gone.
  std::vector<std::filesystem::path> reports(const std::string& ending) const;

 private:
  void clear() const;

  PassedOnSignals signals_;  ///< none of them ends us while the folder is there
  std::filesystem::path path_;
};

/// What comes first in a list of folders that the environment may have already.
std::string prepended(const std::string& first, const char* variable);

}  // namespace vramplan
