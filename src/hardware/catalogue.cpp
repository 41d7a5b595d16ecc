#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/suggest.h"
#include "hardware/logical_devices.h"
#include "vramplan/base/error.h"
#include "vramplan/hardware/card.h"

namespace vramplan {
namespace {

using nlohmann::json;

/// For each character its lower-case letter or digit, or 0: the whole catalogue is folded for one look-up.
constexpr std::array<char, 256> kFold = [] {
  std::array<char, 256> fold{};
  for (char c = '0'; c <= '9'; ++c) fold[static_cast<unsigned char>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) fold[static_cast<unsigned char>(c)] = c;
  for (char c = 'A'; c <= 'Z'; ++c) fold[static_cast<unsigned char>(c)] = static_cast<char>(c - 'A' + 'a');
  return fold;
}();

/// Lower case without blanks, dashes and the maker's name, so that "NVIDIA A100-SXM4-80GB" and "a100 sxm4 80gb" agree.
std::string key_of(std::string_view name) {
  std::string k;
  k.reserve(name.size());
  for (char c : name)
    if (const char folded = kFold[static_cast<unsigned char>(c)]) k += folded;
  for (std::string_view maker : {"nvidia", "geforce", "apple"})
    if (k.starts_with(maker)) k.erase(0, maker.size());
  return k;
}

int capability(const std::string& text) {
  const std::size_t dot = text.find('.');
  return dot == std::string::npos ? 0 : std::stoi(text.substr(0, dot)) * 10 + std::stoi(text.substr(dot + 1));
}

Card card_of(const json& j) {
  Card c;
  c.id = j.at("id").get<std::string>();
  c.name = j.at("name").get<std::string>();
  c.vendor = j.value("vendor", "");
  c.architecture = j.value("architecture", "");
  c.category = j.value("category", "");
  c.custom = j.value("status", "") == "custom";
  c.launch_year = j.value("launch_year", 0);
  c.compute_capability = capability(j.value("compute_capability", ""));
  c.multiprocessors = j.value("multiprocessors", c.multiprocessors);
  c.nominal = Bytes(j.at("memory_bytes").get<std::uint64_t>());
  c.driver_total = Bytes(j.value("driver_total_mib", std::uint64_t{0})) * kMiB;
  c.driver_basis = j.value("driver_total_basis", "");
  const bool known = j.contains("usable_mib");
  c.usable = known ? Bytes(j.at("usable_mib").get<std::uint64_t>()) * kMiB : c.nominal;
  c.usable_basis = known ? j.value("usable_basis", "catalogue") : "advertised size: nothing better is known";
  c.bandwidth_gbs = j.value("bandwidth_gbs", 0.0);
  c.l2 = Bytes(static_cast<std::uint64_t>(j.value("l2_mib", 0.0) * static_cast<double>(kMiB)));  // some have 4.5
  c.bus_bits = j.value("memory_bus_bits", 0);
  c.clock_mhz = j.value("boost_mhz", 0);
  if (const auto rates = j.find("tflops_dense"); rates != j.end())
    c.tflops = {rates->value("fp32", 0.0), rates->value("fp16", 0.0), rates->value("bf16", 0.0),
                rates->value("int8", 0.0)};
  return one_device(std::move(c), j.value("logical_devices", 1), j.value("logical_device_kind", ""));
}

json catalogue(std::string_view text) {
  try {
    json file = json::parse(text);
    if (file.is_object() && file.contains("gpus") && file["gpus"].is_array() && !file["gpus"].empty()) return file;
  } catch (const json::exception& e) {
    throw UserError(fmt::format("not valid JSON: {}", e.what()), "gpus.json", "restore data/gpus.json");
  }
  throw UserError("there is no card in it", "gpus.json", "restore data/gpus.json");
}

const json* named(const json& gpus, const std::string& key) {
  for (const json& g : gpus) {
    if (key_of(g.at("id").get_ref<const std::string&>()) == key ||
        key_of(g.at("name").get_ref<const std::string&>()) == key)
      return &g;
    for (const char* list : {"aliases", "device_names"})
      if (g.contains(list))
        for (const json& a : g.at(list))
          if (key_of(a.get_ref<const std::string&>()) == key) return &g;
  }
  return nullptr;
}

/// The card of a line that names it, without parsing the other lines: the catalogue stands one card a line.
std::optional<Card> quickly(std::string_view text, const std::string& key) {
  if (key.empty()) return std::nullopt;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, end - from);
    from = end + 1;
    // The names stand at the head of the line.
    const std::string_view names = line.substr(0, line.find("\"vendor\""));
    if (line.find("{\"id\":") != 2 || key_of(names).find(key) == std::string::npos) continue;
    if (line.back() == ',') line.remove_suffix(1);
    const json list = json::array({json::parse(line, nullptr, false)});
    if (!list[0].is_discarded() && named(list, key)) return card_of(list[0]);
  }
  return std::nullopt;
}

/// The cards that a short name may mean; empty when it is no such name. Only this part of the catalogue is parsed: an
/// object of lists, which ends at its first brace.
std::vector<std::string> meanings_of(std::string_view text, const std::string& key) {
  const std::size_t from = text.find('{', text.find("\"ambiguous_names\""));
  if (from >= text.size()) return {};
  const std::string_view object = text.substr(from, text.find('}', from) - from + 1);
  const json names = json::parse(object, nullptr, false);
  if (!names.is_object()) throw UserError("ambiguous_names is damaged", "gpus.json", "restore data/gpus.json");
  for (const auto& [name, ids] : names.items())
    if (key_of(name) == key) return ids.get<std::vector<std::string>>();
  return {};
}

std::optional<Card> known_card(std::string_view text, const std::string& key) {
  if (auto card = quickly(text, key)) return card;
  const json file = catalogue(text);
  const json* g = named(file.at("gpus"), key);
  return g ? std::optional(card_of(*g)) : std::nullopt;
}

/// The first meaning, when no other (but cards made for one machine) has less memory than that, or much more: a user
/// who has the larger one must say so.
Card only_size(std::string_view text, std::string_view name, const std::vector<std::string>& ids) {
  std::vector<Card> cards;
  std::string list;
  for (const std::string& id : ids)
    if (auto card = known_card(text, key_of(id))) {
      list += (list.empty() ? "" : ", ") + card->id;
      cards.push_back(*std::move(card));
    }
  const bool safe = std::all_of(cards.begin(), cards.end(), [&](const Card& c) {
    const std::uint64_t first = cards.front().nominal.count(), n = c.nominal.count();
    return c.custom || (n >= first && n <= first + first / 4);
  });
  if (cards.empty() || !safe)
    throw UserError(fmt::format("'{}' could be several cards", name), "--gpu", "choose one of: " + list, Exit::usage);
  std::string& note = cards.front().note;
  note = fmt::format("'{}' is taken for {}; other cards of that name: {}{}", name, cards.front().name, list,
                     note.empty() ? "" : "; " + note);
  return cards.front();
}

}  // namespace

std::vector<Card> all_cards(std::string_view text) {
  const json file = catalogue(text);
  std::vector<Card> cards;
  for (const json& g : file.at("gpus")) cards.push_back(card_of(g));
  return cards;
}

Card find_card(std::string_view text, std::string_view name) {
  const std::string key = key_of(name);
  if (const auto ids = meanings_of(text, key); !ids.empty()) return only_size(text, name, ids);
  if (auto card = known_card(text, key)) return *card;
  throw UserError(fmt::format("the card '{}' is not in the catalogue", name), "--gpu",
                  did_you_mean(name, card_names(text),
                               "list cards with 'vramplan gpus', or give its memory: --gpu-memory 24GiB", Meant::card),
                  Exit::usage);
}

std::vector<std::string> card_names(std::string_view text) {
  const json file = catalogue(text);
  std::vector<std::string> names;
  for (const json& g : file.at("gpus")) {
    names.push_back(g.at("id").get<std::string>());
    if (g.contains("aliases"))
      for (const json& a : g.at("aliases")) names.push_back(a.get<std::string>());
  }
  return names;
}

std::vector<Card> cuda_cards(const std::vector<Card>& cards) {
  std::vector<Card> out;
  std::copy_if(cards.begin(), cards.end(), std::back_inserter(out),
               [](const Card& c) { return c.compute_capability >= 70; });
  std::stable_sort(out.begin(), out.end(), [](const Card& a, const Card& b) { return a.usable < b.usable; });
  return out;
}

Card card_of_size(Bytes memory) {
  Card c;
  c.id = "custom";
  c.name = format_gib(memory) + " card";
  c.nominal = c.usable = memory;
  c.usable_basis = "as given";
  return c;
}

}  // namespace vramplan
