#include "read/job_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "read/json_object.h"
#include "read/training_args.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

std::string text_of(const json& value, const std::string& at) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number()) return value.dump();
  if (value.is_object() && value.contains("file") && value.contains("content")) return value.dump();
  throw UserError(fmt::format("a flag cannot be {}", value.type_name()), at,
                  "a text, a number, true, false, or {\"file\": name, \"content\": {...}}");
}

JobFile flags_of(const json& object, const std::string& where, const std::string& path) {
  JobFile out;
  for (const auto& [key, value] : object.items())
    if (!value.is_null())
      out.flags.push_back({flag_named(key), text_of(value, fmt::format("{}: {}.{}", where, path, key)), where});
  return out;
}

}  // namespace

std::string flag_named(std::string_view key) {
  key.remove_prefix(std::min(key.find_first_not_of('-'), key.size()));
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

JobFile read_job_file(std::string_view text, const std::string& where) {
  const json file = parse_json(text, where);
  const JsonObject o(file, where);  // an error unless it is an object
  if (is_training_args(file)) return read_training_args(file, where);
  if (o.has("model_type") || o.has("architectures"))
    throw UserError("this is a model, not a job", where, "give it as --config, and add --seq");
  if (!o.has("kind") && !o.has("job")) return flags_of(file, where, "$");
  const JsonObject job = o.object("job");
  if (!job.has("flags"))
    throw UserError("this document does not carry the flags of its job", where,
                    "documents with $.job.flags do: vramplan estimate --json");
  return flags_of(job.raw("flags"), where, "$.job.flags");
}

}  // namespace vramplan
