#include "render/advice.h"

#include <fmt/format.h>

#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

std::string slower(const Advice& a) { return a.slower ? fmt::format("{:+.1f} %", 100 * *a.slower) : std::string("?"); }

std::string saved(const Advice& a) {
  return fmt::format("{:.2f} GiB", static_cast<double>(a.saved) / static_cast<double>(kGiB));
}

json object_of(const Advice& a) {
  return {{"flags", a.flags},
          {"setting", a.setting},
          {"consequence", a.consequence},
          {"device_used", a.device_used.count()},
          {"saved", a.saved},
          {"slower", a.slower ? json(*a.slower) : json()},
          {"verdict", name_of(a.verdict)}};
}

void add(Table& t, const Advice& a) {
  t.add({saved(a), slower(a), a.verdict == Verdict::unknown ? "" : std::string(name_of(a.verdict)), a.flags, a.setting,
         a.consequence});
}

}  // namespace

std::string advice_table(const AdviceList& list) {
  if (list.levers.empty() && list.cards.empty()) return "\nNothing that was tried needs less.\n";
  Table t({true, true, false, false, false, false});
  t.add({"saves", "time", "then", "change", "elsewhere", "also"});
  for (const Advice& a : list.levers) add(t, a);
  for (const Advice& a : list.cards)
    t.add({"", slower(a), std::string(name_of(a.verdict)), a.flags, a.setting, a.consequence});
  std::string out = "\nWhat to change (each was run alone; time is that of a token):\n" + t.str();
  if (list.set)
    out += fmt::format("  together {} saves {} ({} time): {}\n", list.set->flags, saved(*list.set), slower(*list.set),
                       name_of(list.set->verdict));
  for (const std::string& line : list.in_vain) out += "  in vain: " + line + "\n";
  return out;
}

json advice_json(const AdviceList& list) {
  json j{{"levers", json::array()}, {"cards", json::array()}};
  for (const Advice& a : list.levers) j["levers"].push_back(object_of(a));
  for (const Advice& a : list.cards) j["cards"].push_back(object_of(a));
  j["set"] = list.set ? object_of(*list.set) : json();
  j["in_vain"] = list.in_vain;
  return j;
}

}  // namespace vramplan
