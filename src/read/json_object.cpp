#include "read/json_object.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_set>

#include "read/text_file.h"

#include "vramplan/base/error.h"

namespace vramplan {

using nlohmann::ordered_json;

namespace {

/// Builds what nlohmann's own parser would, but appends keys instead of looking each up among those before it: many
/// keys in one object cost no more than their text.
class Builder final : public nlohmann::json_sax<ordered_json> {
 public:
  explicit Builder(const std::string& where) : where_(where) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(std::int64_t v) override { return put(v); }
  bool number_unsigned(std::uint64_t v) override { return put(v); }
  bool number_float(double v, const std::string& text) override {
    if (!std::isfinite(v)) throw broken(fmt::format("the number {} is out of range", text));
    return put(v);
  }
  bool string(std::string& v) override { return put(std::move(v)); }
  bool binary(ordered_json::binary_t& v) override { return put(std::move(v)); }
  bool start_object(std::size_t) override { return open(ordered_json::object()); }
  bool start_array(std::size_t) override { return open(ordered_json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second)
      throw UserError(fmt::format("the key '{}' stands twice in one object", name), where_, "remove one of them");
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const ordered_json::exception& e) override {
    throw broken(e.what());
  }

  ordered_json made() { return std::move(root_); }

 private:
  UserError broken(const std::string& why) const {
    return {fmt::format("not valid JSON: {}", why), where_, "check the file with a JSON linter"};
  }
  ordered_json* place(ordered_json&& value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (auto* const list = open_.back()->get_ptr<ordered_json::array_t*>()) {
      list->push_back(std::move(value));
      return &list->back();
    }
    auto& object = open_.back()->get_ref<ordered_json::object_t&>();
    object.emplace_back(std::move(key_), std::move(value));
    return &object.back().second;
  }
  template <class T>
  bool put(T&& value) {
    place(ordered_json(std::forward<T>(value)));
    return true;
  }
  bool open(ordered_json&& value) {
    open_.push_back(place(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  /// A value that is assigned tells those in it where they are, which the library's messages need; what is appended to
  /// the containers themselves is not told. A copy, which a growing list may make, checks it.
  bool close() {
    *open_.back() = std::move(*open_.back());
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::string& where_;
  ordered_json root_;
  std::vector<ordered_json*> open_;  ///< the last grows; those before it do not until it is closed
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
};

}  // namespace

ordered_json parse_json(std::string_view text, const std::string& where) {
  check_nesting(text, where);
  Builder builder(where);
  ordered_json::sax_parse(text, &builder);
  return builder.made();
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
