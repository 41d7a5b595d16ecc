// Strict reading of one JSON object: every value is asked for by key and type, so a wrong type, a missing key and a
// key nobody asked for are all reported with their path ("config.json: $.hidden_size").
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace vramplan {

/// Parse text, in time that grows with its length alone; duplicate keys, numbers out of range and broken syntax are
/// errors. Throws UserError at `where`.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& where);

class JsonObject {
 public:
  /// `where` names the document, `path` the object in it. Throws UserError unless `value` is an object.
  JsonObject(const nlohmann::ordered_json& value, std::string where, std::string path = "$");

  bool has(std::string_view key) const;  ///< present and not null
  bool stated(std::string_view key) const {
    read_.emplace(key);
    return value_.contains(std::string(key));
  }  ///< stated at all, even as null
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise) const;
  double number_or(std::string_view key, double otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, const std::string& otherwise) const;
  JsonObject object(std::string_view key) const;
  const nlohmann::ordered_json& raw(std::string_view key) const;  ///< throws when missing

  /// Keys that were never asked for.
  std::vector<std::string> unread() const;
  std::string at(std::string_view key) const { return where_ + ": " + path_ + "." + std::string(key); }
  [[noreturn]] void fail(std::string_view key, const std::string& what, const std::string& hint = {}) const;

 private:
  const nlohmann::ordered_json* find(std::string_view key) const;
  const nlohmann::ordered_json& value_;
  std::string where_, path_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace vramplan
