#include "render/trace.h"

#include "render/document.h"

#include <nlohmann/json.hpp>

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

json categories_of(const TimelineSample& s) {
  json parts = json::object();
  for (std::size_t c = 0; c < kCategoryNames.size(); ++c)
    parts[std::string(kCategoryNames[c])] = s.by_category[c].count();
  return parts;
}

}  // namespace

std::string timeline_json(const Timeline& t, const Job& job) {
  json j = document("timeline");
  j["events"] = t.events;
  j["peak"] = t.peak;
  j["samples"] = json::array();
  for (const TimelineSample& s : t.samples)
    j["samples"].push_back({{"event", s.event},
                            {"phase", name_of(s.phase)},
                            {"layer", s.layer},
                            {"module", s.module},
                            {"live", s.live.count()},
                            {"categories", categories_of(s)}});
  j["job"] = job_json(job);
  return document_text(j);
}

std::string timeline_trace(const Timeline& t) {
  json events = json::array();
  events.push_back(
      {{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "live bytes of a training step"}}}});
  for (std::size_t i = 0; i < t.samples.size(); ++i) {
    const TimelineSample& s = t.samples[i];
    events.push_back({{"ph", "C"}, {"pid", 1}, {"ts", s.event}, {"name", "bytes"}, {"args", categories_of(s)}});
    if (i == 0 || t.samples[i - 1].phase != s.phase) {
      std::size_t end = i;
      while (end + 1 < t.samples.size() && t.samples[end + 1].phase == s.phase) ++end;
      events.push_back({{"ph", "X"},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", s.event},
                        {"dur", t.samples[end].event - s.event},
                        {"name", name_of(s.phase)}});
    }
  }
  return json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace vramplan
