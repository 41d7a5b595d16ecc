// Cards of a user's own, field by field: every field is read, is known to change nothing, or is an error with its name.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "base/text.h"
#include "hardware/logical_devices.h"
#include "vramplan/base/error.h"
#include "vramplan/hardware/card.h"

namespace vramplan {
namespace {

using nlohmann::json;

/// What a row says beside the card itself.
struct OwnRow {
  Card card;
  bool has_usable = false;
  int devices = 1;
  std::string device_kind;
};

struct WrongValue {
  std::string wanted;
};

std::string text(const json& v) {
  if (!v.is_string()) throw WrongValue{"a text"};
  return v.get<std::string>();
}
double figure(const json& v) {
  constexpr double kMost = 1e12;
  if (!v.is_number() || v.get<double>() < 0 || v.get<double>() > kMost)
    throw WrongValue{"a number that is not below 0"};
  return v.get<double>();
}
std::uint64_t whole(const json& v) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  if (!v.is_number_unsigned() || v.get<std::uint64_t>() > kMost) throw WrongValue{"a whole number that is not below 0"};
  return v.get<std::uint64_t>();
}
int small(const json& v) {
  if (whole(v) > 10'000'000) throw WrongValue{"a whole number of at most 10,000,000"};
  return static_cast<int>(whole(v));
}
Bytes mebibytes(const json& v) { return Bytes(whole(v)) * kMiB; }

int capability_of(const json& v) {
  const std::string t = text(v);
  const std::size_t dot = t.find('.');
  const bool digits = t.find_first_not_of("0123456789.") == std::string::npos && t.size() <= 5;
  if (t.empty()) return 0;
  if (!digits || dot == std::string::npos || dot == 0 || dot + 2 != t.size()) throw WrongValue{"a text like \"8.0\""};
  return std::stoi(t.substr(0, dot)) * 10 + std::stoi(t.substr(dot + 1));
}

void usable(OwnRow& r, Bytes b) {
  if (r.has_usable && r.card.usable != b) throw WrongValue{"what the other field of usable memory says"};
  r.card.usable = b, r.has_usable = true;
}

void bf16(OwnRow& r, double rate) {
  if (r.card.tflops.bf16 > 0 && r.card.tflops.bf16 != rate) throw WrongValue{"what the other field of bf16 says"};
  r.card.tflops.bf16 = rate;
}

void rates(OwnRow& r, const json& v) {
  if (!v.is_object()) throw WrongValue{"an object of rates"};
  for (const auto& [type, rate] : v.items())
    if (type == "fp32")
      r.card.tflops.fp32 = figure(rate);
    else if (type == "fp16")
      r.card.tflops.fp16 = figure(rate);
    else if (type == "bf16")
      bf16(r, figure(rate));
    else if (type == "int8")
      r.card.tflops.int8 = figure(rate);
    else
      figure(rate);  // of types that no step is timed by
}

struct Field {
  std::string_view name;
  void (*read)(OwnRow&, const json&);
};
constexpr Field kOwnFields[]{
    {"id", [](OwnRow& r, const json& v) { r.card.id = text(v); }},
    {"name", [](OwnRow& r, const json& v) { r.card.name = text(v); }},
    {"vendor", [](OwnRow& r, const json& v) { r.card.vendor = text(v); }},
    {"architecture", [](OwnRow& r, const json& v) { r.card.architecture = text(v); }},
    {"class", [](OwnRow& r, const json& v) { r.card.category = text(v); }},
    {"category", [](OwnRow& r, const json& v) { r.card.category = text(v); }},
    {"status", [](OwnRow& r, const json& v) { r.card.custom = text(v) == "custom"; }},
    {"launch_year", [](OwnRow& r, const json& v) { r.card.launch_year = small(v); }},
    {"compute_capability", [](OwnRow& r, const json& v) { r.card.compute_capability = capability_of(v); }},
    {"multiprocessors", [](OwnRow& r, const json& v) { r.card.multiprocessors = small(v); }},
    {"memory_bytes", [](OwnRow& r, const json& v) { r.card.nominal = Bytes(whole(v)); }},
    {"driver_total", [](OwnRow& r, const json& v) { r.card.driver_total = Bytes(whole(v)); }},
    {"driver_total_mib", [](OwnRow& r, const json& v) { r.card.driver_total = mebibytes(v); }},
    {"driver_total_basis", [](OwnRow& r, const json& v) { r.card.driver_basis = text(v); }},
    {"usable", [](OwnRow& r, const json& v) { usable(r, Bytes(whole(v))); }},
    {"usable_mib", [](OwnRow& r, const json& v) { usable(r, mebibytes(v)); }},
    {"usable_basis", [](OwnRow& r, const json& v) { r.card.usable_basis = text(v); }},
    {"bandwidth_gbs", [](OwnRow& r, const json& v) { r.card.bandwidth_gbs = figure(v); }},
    {"l2", [](OwnRow& r, const json& v) { r.card.l2 = Bytes(whole(v)); }},
    {"l2_mib",
     [](OwnRow& r, const json& v) {
       r.card.l2 = Bytes(static_cast<std::uint64_t>(figure(v) * static_cast<double>(kMiB)));  // some have 4.5
     }},
    {"memory_bus_bits", [](OwnRow& r, const json& v) { r.card.bus_bits = small(v); }},
    {"boost_mhz", [](OwnRow& r, const json& v) { r.card.clock_mhz = small(v); }},
    {"bf16_tflops", [](OwnRow& r, const json& v) { bf16(r, figure(v)); }},
    {"tflops", rates},
    {"tflops_dense", rates},
    {"note", [](OwnRow& r, const json& v) { r.card.note = text(v); }},
    {"logical_devices", [](OwnRow& r, const json& v) { r.devices = small(v); }},
    {"logical_device_kind", [](OwnRow& r, const json& v) { r.device_kind = text(v); }}};

/// Of the catalogue's rows: where figures are from, and what no estimate asks for.
constexpr std::string_view kUnasked[]{"aliases",
                                      "device_names",
                                      "device_name_shared",
                                      "chip",
                                      "gfx_target",
                                      "memory_type",
                                      "form_factor",
                                      "sources",
                                      "verified_fields",
                                      "verified",
                                      "compute_units",
                                      "shader_cores",
                                      "tdp_w",
                                      "pcie",
                                      "matrix_rate_basis",
                                      "notes",
                                      "interconnect",
                                      "unified_memory",
                                      "conflicts",
                                      "runtime_total_mib",
                                      "driver_total_source",
                                      "runtime_total_source",
                                      "total_variants",
                                      "last_level_cache_mib"};

[[noreturn]] void unknown_field(const std::string& field, const std::string& at) {
  std::vector<std::string> known;
  for (const Field& f : kOwnFields) known.emplace_back(f.name);
  throw UserError(fmt::format("the field '{}' is not known", field), at,
                  did_you_mean(field, known, "write the fields of 'vramplan gpus --json'", Meant::card));
}

void read_field(OwnRow& row, const std::string& field, const json& value, const std::string& at) {
  if (std::find(std::begin(kUnasked), std::end(kUnasked), field) != std::end(kUnasked)) return;
  const auto* const known =
      std::find_if(std::begin(kOwnFields), std::end(kOwnFields), [&](const Field& f) { return f.name == field; });
  if (known == std::end(kOwnFields)) unknown_field(field, at);
  try {
    if (!value.is_null()) known->read(row, value);
  } catch (const WrongValue& wrong) {
    throw UserError(fmt::format("'{}' must be {}, not {}", field, wrong.wanted,
                                value.dump(-1, ' ', false, json::error_handler_t::replace)),
                    at, "write the fields of 'vramplan gpus --json'");
  }
}

Card own_card(const json& j, const std::string& at) {
  const std::string example = R"(write [{"id": "my-card", "memory_bytes": 25769803776}])";
  if (!j.is_object()) throw UserError("a card must be an object", at, example);
  OwnRow row;
  for (const auto& [field, value] : j.items()) read_field(row, field, value, at);
  Card& c = row.card;
  if (c.id.empty()) throw UserError("a card without an id", at, example);
  if (c.name.empty()) c.name = c.id;
  if (!row.has_usable) {
    c.usable = c.nominal;
    c.usable_basis = "advertised size: nothing better is known";
  }
  const Bytes most = c.nominal + Bytes(c.nominal.count() / 100);  // makers round: a TPU v5p of "95 GB" shows 95.74 GiB
  if (c.usable == Bytes() || c.usable > most)
    throw UserError(fmt::format("'{}' has no memory, or more usable than it has", c.id), at,
                    "memory_bytes is the whole, usable what one process can allocate, both in bytes");
  return one_device(std::move(c), row.devices, row.device_kind);
}

}  // namespace

std::vector<Card> own_cards(std::string_view text, std::string_view where) {
  const std::string file_name(where);
  const json file = json::parse(text, nullptr, false);
  const json* list = file.is_array() ? &file : file.is_object() && file.contains("gpus") ? &file.at("gpus") : nullptr;
  if (!list || !list->is_array())
    throw UserError("not a list of cards", file_name,
                    R"(write [{"id": "my-card", "memory_bytes": 25769803776}], or what 'vramplan gpus --json' prints)");
  std::vector<Card> cards;
  for (std::size_t i = 0; i < list->size(); ++i)
    cards.push_back(own_card((*list)[i], fmt::format("{}: card {}", file_name, i + 1)));
  return cards;
}

}  // namespace vramplan
