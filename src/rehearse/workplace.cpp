#include "rehearse/workplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/whole_file.h"
#include "vramplan/base/error.h"

namespace vramplan {

namespace fs = std::filesystem;

namespace {

/// Where temporary folders are made. A list of folders, in which this one will stand, cannot hold a name with a colon.
std::vector<fs::path> temporary_places() {
  std::vector<fs::path> out;
  const char* asked = std::getenv("TMPDIR");
  std::error_code error;
  for (const char* place : {asked ? asked : "", "/tmp", "/var/tmp"})
    if (const fs::path whole = fs::absolute(place, error);
        *place && !error && whole.string().find(':') == std::string::npos)
      out.push_back(whole);
  return out;
}

fs::path new_folder() {
  int error = ENOENT;
  for (const fs::path& place : temporary_places()) {
    std::string name = (place / "vramplan-XXXXXX").string();
    if (mkdtemp(name.data())) return name;
    error = errno;
  }
  throw UserError(fmt::format("no temporary folder can be made: {}", std::strerror(error)), "TMPDIR",
                  "name a folder that may be written, without a colon in its name");
}

}  // namespace

Workplace::Workplace(const HookFiles& hook) : path_(new_folder()) {
  try {
    for (const auto& [file, text] : hook) write_whole((path_ / file).string(), text);
  } catch (const UserError&) {
    clear();
    throw;
  }
}

Workplace::~Workplace() { clear(); }

void Workplace::clear() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<fs::path> Workplace::reports(const std::string& ending) const {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error))
    if (entry.path().string().ends_with(ending)) out.push_back(entry.path());
  if (error)
    throw UserError(fmt::format("the folder of its reports cannot be read: {}", error.message()), path_.string(),
                    "the program must leave this folder alone");
  std::sort(out.begin(), out.end());
  return out;
}

std::string prepended(const std::string& first, const char* variable) {
  const char* rest = std::getenv(variable);
  return rest && *rest ? first + ":" + rest : first;
}

}  // namespace vramplan
