#include "read/json_object.h"

#include <fmt/format.h>

#include <limits>

#include "read/text_file.h"

#include "vramplan/base/error.h"

namespace vramplan {

using nlohmann::ordered_json;

ordered_json parse_json(std::string_view text, const std::string& where) {
  check_nesting(text, where);
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int, ordered_json::parse_event_t event, ordered_json& value) {
    if (event == ordered_json::parse_event_t::object_start) keys.emplace_back();
    if (event == ordered_json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == ordered_json::parse_event_t::key && !keys.empty() &&
        !keys.back().insert(value.get<std::string>()).second)
      throw UserError(fmt::format("the key '{}' stands twice in one object", value.get<std::string>()), where,
                      "remove one of them");
    return true;
  };
  try {
    return ordered_json::parse(text, watch);
  } catch (const ordered_json::exception& e) {
    throw UserError(fmt::format("not valid JSON: {}", e.what()), where, "check the file with a JSON linter");
  }
}

JsonObject::JsonObject(const ordered_json& value, std::string where, std::string path)
    : value_(value), where_(std::move(where)), path_(std::move(path)) {
  if (!value_.is_object())
    throw UserError(fmt::format("expected an object, found {}", value_.type_name()), where_ + ": " + path_);
}

const ordered_json* JsonObject::find(std::string_view key) const {
  read_.emplace(key);
  auto it = value_.find(std::string(key));
  return it == value_.end() || it->is_null() ? nullptr : &*it;
}

void JsonObject::fail(std::string_view key, const std::string& what, const std::string& hint) const {
  throw UserError(what, at(key), hint);
}

bool JsonObject::has(std::string_view key) const { return find(key) != nullptr; }

const ordered_json& JsonObject::raw(std::string_view key) const {
  const ordered_json* v = find(key);
  if (!v) fail(key, fmt::format("'{}' is missing", key));
  return *v;
}

std::int64_t JsonObject::integer(std::string_view key) const {
  const ordered_json& v = raw(key);
  if (!v.is_number_integer())
    fail(key, fmt::format("'{}' must be a whole number, found {}", key,
                          v.dump(-1, ' ', false, ordered_json::error_handler_t::replace)));
  if (v.is_number_unsigned() &&
      v.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail(key, fmt::format("'{}' is too large", key));
  return v.get<std::int64_t>();
}
std::int64_t JsonObject::integer_or(std::string_view key, std::int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

double JsonObject::number_or(std::string_view key, double otherwise) const {
  const ordered_json* v = find(key);
  if (!v) return otherwise;
  if (!v->is_number()) fail(key, fmt::format("'{}' must be a number, found {}", key, v->type_name()));
  return v->get<double>();
}
bool JsonObject::boolean_or(std::string_view key, bool otherwise) const {
  const ordered_json* v = find(key);
  if (!v) return otherwise;
  if (!v->is_boolean()) fail(key, fmt::format("'{}' must be true or false, found {}", key, v->type_name()));
  return v->get<bool>();
}
std::string JsonObject::text(std::string_view key) const {
  const ordered_json& v = raw(key);
  if (!v.is_string()) fail(key, fmt::format("'{}' must be text, found {}", key, v.type_name()));
  return v.get<std::string>();
}
std::string JsonObject::text_or(std::string_view key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}
JsonObject JsonObject::object(std::string_view key) const {
  return JsonObject(raw(key), where_, path_ + "." + std::string(key));
}

std::vector<std::string> JsonObject::unread() const {
  std::vector<std::string> out;
  for (auto it = value_.begin(); it != value_.end(); ++it)
    if (!read_.count(it.key())) out.push_back(it.key());
  return out;
}

}  // namespace vramplan
