#include "rehearse/workplace.h"

#include <cstdlib>
#include <fstream>

#include "vramplan/base/error.h"

namespace vramplan {

namespace fs = std::filesystem;

Workplace::Workplace(const HookFiles& hook) {
  std::string name = (fs::temp_directory_path() / "vramplan-XXXXXX").string();
  if (!mkdtemp(name.data())) throw UserError("no temporary folder can be made", name, "check TMPDIR");
  path_ = name;
  for (const auto& [file, text] : hook) std::ofstream(path_ / file) << text;
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string prepended(const std::string& first, const char* variable) {
  const char* rest = std::getenv(variable);
  return rest && *rest ? first + ":" + rest : first;
}

}  // namespace vramplan
