// A checker for the JSON Schemas of this project: the keywords they use, and no others. CI also runs a real validator.
#pragma once
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vramplan::test {

class Schema {
 public:
  using json = nlohmann::json;
  explicit Schema(const std::string& name) : root_(load(name)) {}

  /// Where the value breaks the schema, and how; empty when it does not.
  std::vector<std::string> breaches(const json& value) const {
    std::vector<std::string> out;
    check(root_, value, "$", out);
    return out;
  }

 private:
  static json load(const std::string& file) {
    return json::parse(std::ifstream(std::string(TEST_ROOT) + "/../data/schemas/" + file));
  }
  static bool is(const json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number()) ||
           (type == "null" && value.is_null());
  }
  static bool has_type(const json& schema, const json& value) {
    const json& types = schema.at("type");
    if (types.is_string()) return is(value, types.get<std::string>());
    return std::any_of(types.begin(), types.end(), [&](const json& t) { return is(value, t.get<std::string>()); });
  }

  void check(const json& schema, const json& value, const std::string& at, std::vector<std::string>& out) const {
    if (!schema.contains("description") && !schema.contains("$ref") && at != "$" && at.back() != ']')
      out.push_back(at + ": the schema does not describe it");
    if (schema.contains("$ref")) {
      const auto ref = schema.at("$ref").get<std::string>();
      if (ref.starts_with("#/$defs/")) return check(root_.at("$defs").at(ref.substr(8)), value, at, out);
      for (const std::string& b : Schema(ref).breaches(value)) out.push_back(at + b.substr(1));
      return;
    }
    if (schema.contains("const") && schema.at("const") != value)
      out.push_back(at + ": is not " + schema.at("const").dump());
    if (schema.contains("enum")) {
      const json& allowed = schema.at("enum");
      if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
        out.push_back(at + ": " + value.dump() + " is not allowed");
    }
    if (schema.contains("type") && !has_type(schema, value))
      out.push_back(at + ": " + value.dump() + " is of another type");
    if (schema.contains("minimum") && value.is_number() && value < schema.at("minimum"))
      out.push_back(at + ": is too small");
    if (value.is_object()) check_object(schema, value, at, out);
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        check(schema.at("items"), value[i], at + "[" + std::to_string(i) + "]", out);
  }

  void check_object(const json& schema, const json& value, const std::string& at, std::vector<std::string>& out) const {
    const json none = json::object();
    const json& properties = schema.contains("properties") ? schema.at("properties") : none;
    if (schema.contains("required"))
      for (const json& key : schema.at("required"))
        if (!value.contains(key.get<std::string>())) out.push_back(at + ": lacks " + key.dump());
    for (const auto& [key, item] : value.items()) {
      const std::string inside = at + "." + key;
      if (properties.contains(key))
        check(properties.at(key), item, inside, out);
      else if (!schema.contains("additionalProperties"))
        continue;  // of another's making: a config.json
      else if (schema.at("additionalProperties").is_object())
        check(schema.at("additionalProperties"), item, inside, out);
      else
        out.push_back(inside + ": is not in the schema");
    }
  }

  json root_;
};

}  // namespace vramplan::test
