#include "read/named_file.h"

#include <filesystem>

#include "read/data.h"
#include "read/json_object.h"
#include "vramplan/base/error.h"

namespace vramplan {

NamedFile read_named(const std::string& value) {
  if (!value.starts_with('{')) {
    if (std::filesystem::is_directory(value)) {
      const std::string inside = (std::filesystem::path(value) / "config.json").string();
      return {inside, read_file(inside)};
    }
    return {value, read_file(value)};
  }
  const nlohmann::ordered_json json = parse_json(value, "a file given as JSON");
  const JsonObject o(json, "a file given as JSON");
  return {o.text("file"), o.raw("content").dump()};
}

std::string carried(const NamedFile& file) {
  return nlohmann::ordered_json{{"file", file.name}, {"content", parse_json(file.content, file.name)}}.dump();
}

}  // namespace vramplan
