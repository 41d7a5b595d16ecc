#include "read/named_file.h"

#include <filesystem>

#include "read/data.h"
#include "read/json_object.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

std::string read_document(const std::string& path) {
  std::string text = read_file(path);
  check_nesting(text, path);
  return text;
}

}  // namespace

NamedFile read_named(const std::string& value) {
  if (!value.starts_with('{')) {
    std::error_code ignored;
    if (std::filesystem::is_directory(value, ignored)) {
      const std::string inside = (std::filesystem::path(value) / "config.json").string();
      return {inside, read_document(inside)};
    }
    return {value, read_document(value)};
  }
  const nlohmann::ordered_json json = parse_json(value, "a file given as JSON");
  const JsonObject o(json, "a file given as JSON");
  return {o.text("file"), o.raw("content").dump()};
}

/// Names need not be UTF-8; a document is.
std::string carried(const NamedFile& file) {
  return nlohmann::ordered_json{{"file", file.name}, {"content", parse_json(file.content, file.name)}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace vramplan
