#include "render/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "read/data.h"
#include "render/svg.h"

namespace vramplan {

std::string page(std::string_view title, std::string_view body) {
  const Data data;
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{}</title><style>{}{}</style></head><body>{}"
      "<script>{}</script></body></html>\n",
      escaped(title), data.text("report.css"), picture_style(), body, data.text("report.js"));
}

std::string bytes_cell(Bytes b) {
  return fmt::format("<td class=\"n\" data-bytes=\"{}\">{}</td>", b.count(), format_bytes(b));
}

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string timeline_part(const Timeline& t, std::optional<Bytes> capacity) {
  nlohmann::ordered_json j{
      {"events", t.events}, {"peak", t.peak}, {"phases", kPhaseNames}, {"categories", kCategoryNames}};
  j["samples"] = nlohmann::ordered_json::array();
  for (const TimelineSample& s : t.samples) {
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (const Bytes b : s.by_category) parts.push_back(b.count());
    j["samples"].push_back({s.event, static_cast<int>(s.phase), s.layer, s.module, s.live.count(), std::move(parts)});
  }
  std::string samples = j.dump(-1, ' ', true);
  for (std::size_t at = 0; (at = samples.find('<', at)) != std::string::npos;) samples.replace(at, 1, "\\u003c");
  return "<div class=\"wide\">" + timeline_svg(t, capacity) +
         "</div><p id=\"at\" aria-live=\"polite\"></p><script id=\"samples\" type=\"application/json\">" + samples +
         "</script>";
}

}  // namespace vramplan
