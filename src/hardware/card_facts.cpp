// Everything the catalogue knows of a card, each figure with where it is from.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vramplan/base/error.h"
#include "vramplan/hardware/card.h"

namespace vramplan {
namespace {

using nlohmann::ordered_json;

std::string plain(const ordered_json& v) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_boolean()) return v.get<bool>() ? "yes" : "no";
  if (v.is_array() || v.is_object()) {
    std::string out;
    for (const auto& [key, item] : v.items())
      out += (out.empty() ? "" : ", ") + (v.is_object() ? fmt::format("{} {}", key, plain(item)) : plain(item));
    return out;
  }
  return v.dump();
}

struct Unit {
  std::string_view field, unit;
};
constexpr Unit kUnits[]{{"memory_bytes", "bytes"},
                        {"memory_bus_bits", "bits"},
                        {"driver_total_mib", "MiB"},
                        {"runtime_total_mib", "MiB"},
                        {"usable_mib", "MiB"},
                        {"bandwidth_gbs", "GB/s"},
                        {"tflops_dense", "TFLOP/s"},
                        {"boost_mhz", "MHz"},
                        {"l2_mib", "MiB"},
                        {"last_level_cache_mib", "MiB"},
                        {"tdp_w", "W"}};

std::string_view unit_of(const std::string& field) {
  for (const Unit& u : kUnits)
    if (u.field == field) return u.unit;
  return "";
}

/// The figure of `verified_fields` that speaks of this field.
struct Verified {
  std::string_view field, key;
};
constexpr Verified kVerified[]{{"memory_bytes", "memory"}, {"bandwidth_gbs", "bandwidth"},
                               {"tdp_w", "tdp"},           {"l2_mib", "l2"},
                               {"shader_cores", "cores"},  {"interconnect", "interconnect"}};

class Sources {
 public:
  Sources(const ordered_json& file, const ordered_json& card) : titles_(file.at("sources")), card_(card) {}

  std::string of(const std::string& field) const {
    if (field == "driver_total_mib") return named("driver_total_source", "driver_total_basis");
    if (field == "runtime_total_mib") return named("runtime_total_source", "");
    if (field == "usable_mib") return card_.value("usable_basis", "");
    if (field == "memory_bytes" || !verified(field).empty()) return verified(field);
    return all();
  }
  /// Of one rate.
  std::string rate(const std::string& type) const {
    const int n = count(type);
    return n ? agree(n) : card_.value("matrix_rate_basis", all());
  }

 private:
  std::string title(const std::string& id) const { return titles_.value(id, id); }
  std::string named(const char* id, const char* otherwise) const {
    return card_.contains(id) ? title(card_.at(id).get<std::string>()) : card_.value(otherwise, all());
  }
  int count(std::string_view key) const {
    const auto v = card_.find("verified_fields");
    return v == card_.end() ? 0 : v->value(std::string(key), 0);
  }
  static std::string agree(int n) { return n == 1 ? "1 source" : fmt::format("{} sources agree", n); }
  std::string verified(const std::string& field) const {
    for (const Verified& v : kVerified)
      if (v.field == field) return count(v.key) ? agree(count(v.key)) : "derived";
    return "";
  }
  std::string all() const { return card_.value("verified", "") == "1 source" ? "its source" : "its sources"; }

  const ordered_json& titles_;
  const ordered_json& card_;
};

Card known_by_id(std::string_view text, const std::string& id) {
  for (Card& c : all_cards(text))
    if (c.id == id) return std::move(c);
  return {};
}

bool told_elsewhere(const std::string& field) {
  for (const char* f : {"driver_total_source", "runtime_total_source", "driver_total_basis", "usable_basis", "sources",
                        "verified_fields", "matrix_rate_basis", "conflicts", "total_variants"})
    if (field == f) return true;
  return false;
}

}  // namespace

std::vector<CardFact> card_facts(std::string_view text, const std::string& id) {
  const ordered_json file = ordered_json::parse(text, nullptr, false);
  if (file.is_discarded()) throw UserError("not valid JSON", "gpus.json", "restore data/gpus.json");
  std::vector<CardFact> out;
  for (const ordered_json& card : file.at("gpus")) {
    if (card.at("id") != id) continue;
    const Sources sources(file, card);
    for (const auto& [field, value] : card.items()) {
      if (told_elsewhere(field)) continue;
      if (field == "tflops_dense") {
        for (const auto& [type, rate] : value.items())
          out.push_back({fmt::format("tflops_dense.{}", type), plain(rate), "TFLOP/s", sources.rate(type)});
      } else {
        out.push_back({field, plain(value), std::string(unit_of(field)), sources.of(field)});
      }
    }
    if (const Card one = known_by_id(text, id); !one.note.empty())
      out.push_back({"planned as", fmt::format("{}, {:.0f}", one.usable.count() / kMiB, one.bandwidth_gbs), "MiB, GB/s",
                     one.note});
    for (const ordered_json& v : card.value("total_variants", ordered_json::array()))
      out.push_back({v.at("kind").get<std::string>() + "_total_mib, " + v.at("when").get<std::string>(),
                     plain(v.at("mib")), "MiB", file.at("sources").value(v.at("source").get<std::string>(), "")});
    for (const ordered_json& c : card.value("conflicts", ordered_json::array()))
      out.push_back({"conflict", plain(c), "", "the sources disagree"});
    for (const ordered_json& s : card.value("sources", ordered_json::array()))
      out.push_back({"source", s.get<std::string>(), "", file.at("sources").value(s.get<std::string>(), "")});
  }
  return out;
}

}  // namespace vramplan
