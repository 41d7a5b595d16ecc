#include "render/compare.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "render/document.h"
#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

std::string signed_bytes(std::int64_t n) {
  if (n == 0) return "=";
  return (n < 0 ? "-" : "+") + format_bytes(Bytes(static_cast<std::uint64_t>(std::abs(n))));
}

std::string shown(const std::string& value) {
  constexpr std::size_t kLongest = 40;
  if (value.empty()) return "(not given)";
  const std::string text = flag_text(value);
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

std::string pairs(std::string_view title, const std::vector<BytePair>& rows) {
  Table t({false, true, true, true});
  for (const BytePair& p : rows)
    t.add({p.name, format_bytes(p.first), format_bytes(p.second), signed_bytes(p.difference())});
  return fmt::format("\n{}:\n{}", title, t.str());
}

json pairs_json(const std::vector<BytePair>& rows) {
  json list = json::array();
  for (const BytePair& p : rows)
    list.push_back(
        {{"name", p.name}, {"first", p.first.count()}, {"second", p.second.count()}, {"difference", p.difference()}});
  return list;
}

json side(const Estimate& e) {
  return {{"verdict", name_of(e.verdict)},
          {"margin", e.job.card ? json(e.margin) : json()},
          {"peak_phase", name_of(e.peak_phase)},
          {"step_seconds", e.time ? json(e.time->total()) : json()},
          {"job", job_json(e.job)}};
}

}  // namespace

std::string compare_table(const Comparison& c) {
  const BytePair used{{}, c.first.counters.device_used, c.second.counters.device_used};
  std::string out = fmt::format("first:  {}; {}\nsecond: {}; {}\n", name_of(c.first.verdict), job_line(c.first),
                                name_of(c.second.verdict), job_line(c.second));
  out += used.difference() == 0
             ? "both use the same memory of the device\n"
             : fmt::format("second uses {} {} of the device\n",
                           format_bytes(Bytes(static_cast<std::uint64_t>(std::abs(used.difference())))),
                           used.difference() > 0 ? "more" : "less");
  if (c.effects.empty()) {
    out += "\nThe settings are the same.\n";
  } else {
    Table t({true, false, false, false});
    t.add({"device used", "setting", "first", "second"});
    for (const Effect& e : c.effects)
      t.add({e.device_used ? signed_bytes(*e.device_used) : "?", e.change.flag, shown(e.change.from),
             shown(e.change.to) + (e.device_used ? "" : "  (not alone: " + e.change.why_not + ")")});
    if (c.effects.size() > 1) t.add({signed_bytes(c.together), "what they do together", "", ""});
    out += "\nWhat each setting does, changed alone in the first:\n" + t.str();
  }
  out += pairs("As tools count it", c.counters);
  out += pairs("At the peak", c.categories);
  out += pairs("Peak of each phase, of tensors", c.phases);
  if (c.first.time && c.second.time)
    out += fmt::format("\nTime of a step: {:.3f} s and {:.3f} s\n", c.first.time->total(), c.second.time->total());
  return out;
}

std::string compare_json(const Comparison& c) {
  json j = document("compare");
  j["settings"] = json::array();
  for (const Effect& e : c.effects)
    j["settings"].push_back({{"flag", e.change.flag},
                             {"first", flag_json(e.change.from)},
                             {"second", flag_json(e.change.to)},
                             {"device_used", e.device_used ? json(*e.device_used) : json()},
                             {"why_not", e.device_used ? json() : json(e.change.why_not)}});
  j["together"] = c.together;
  j["counters"] = pairs_json(c.counters);
  j["categories"] = pairs_json(c.categories);
  j["phases"] = pairs_json(c.phases);
  j["first"] = side(c.first);
  j["second"] = side(c.second);
  return document_text(j);
}

}  // namespace vramplan
