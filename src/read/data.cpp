#include "read/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/embedded.h"
#include "base/suggest.h"
#include "vramplan/base/error.h"

namespace vramplan {

namespace fs = std::filesystem;

namespace {
constexpr std::string_view kSchemas = "schemas/";
}

Data::Data(std::string folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  if (!folder_.empty() && !fs::is_directory(folder_, ignored))
    throw UserError("the data folder does not exist", folder_, "give a folder with gpus.json and models/");
}

std::string Data::text(const std::string& path) const {
  if (!folder_.empty()) return read_file((fs::path(folder_) / path).string());
  for (const EmbeddedFile& f : embedded_files())
    if (f.path == path) return std::string(f.text);
  throw UserError("no such data file", path, "give a folder that has it with --data-dir");
}

std::vector<std::string> Data::models() const {
  std::vector<std::string> names;
  if (!folder_.empty()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(folder_) / "models", ignored))
      if (fs::exists(entry.path() / "config.json", ignored)) names.push_back(entry.path().filename().string());
  } else {
    for (const EmbeddedFile& f : embedded_files())
      if (f.path.starts_with("models/")) names.emplace_back(f.path.substr(7, f.path.rfind('/') - 7));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Data::model(const std::string& name) const {
  const std::vector<std::string> known = models();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw UserError(
        fmt::format("no model preset is called '{}'", name), "--model",
        did_you_mean(name, known,
                     "list presets with 'vramplan models', or read a file with --config path/to/config.json",
                     Meant::model),
        Exit::usage);
  return text("models/" + name + "/config.json");
}

std::vector<std::string> documents_with_schema() {
  std::vector<std::string> names;
  for (const EmbeddedFile& f : embedded_files())
    if (f.path.starts_with(kSchemas))
      names.emplace_back(f.path.substr(kSchemas.size(), f.path.find('.') - kSchemas.size()));
  std::sort(names.begin(), names.end());
  return names;
}

std::string schema_of(const std::string& document) {
  return Data().text(std::string(kSchemas) + document + ".schema.json");
}

}  // namespace vramplan
