#include "render/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/svg_frame.h"

namespace vramplan {
namespace {

constexpr double kWidth = SvgFrame::kWidth, kHeight = SvgFrame::kHeight, kTop = SvgFrame::kTop,
                 kBottom = SvgFrame::kBottom;

double event(std::size_t e) { return static_cast<double>(e); }

std::string class_of(std::size_t category) {
  std::string name(kCategoryNames[category]);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string phases(const Timeline& t, const SvgFrame& scale) {
  std::string out;
  for (std::size_t i = 0; i < t.samples.size();) {
    const Phase phase = t.samples[i].phase;
    std::size_t end = i;
    while (end < t.samples.size() && t.samples[end].phase == phase) ++end;
    const double from = scale.x(i == 0 ? 0 : event(t.samples[i - 1].event)),
                 to = scale.x(event(t.samples[end - 1].event));
    out += fmt::format("<rect class=\"phase {0}\" x=\"{1:.1f}\" y=\"{2}\" width=\"{3:.1f}\" height=\"{4}\"/>",
                       name_of(phase), from, kTop, to - from, kHeight - kTop - kBottom);
    if (to - from > 60)
      out += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{}\">{}</text>", from + 4, kTop - 8, name_of(phase));
    i = end;
  }
  return out;
}

/// One area for each category that ever holds anything, the longest-lived at the bottom.
std::string areas(const Timeline& t, const SvgFrame& scale) {
  std::string out;
  std::vector<Bytes> below(t.samples.size());
  for (std::size_t c = 0; c < kCategoryNames.size(); ++c) {
    if (std::all_of(t.samples.begin(), t.samples.end(),
                    [&](const TimelineSample& s) { return s.by_category[c] == Bytes(); }))
      continue;
    std::string outline;
    std::vector<std::string> back;
    for (std::size_t i = 0; i < t.samples.size(); ++i) {
      const double x = scale.x(event(t.samples[i].event));
      back.push_back(fmt::format("L{:.1f} {:.1f}", x, scale.y(below[i])));
      below[i] += t.samples[i].by_category[c];
      outline += fmt::format("{}{:.1f} {:.1f}", i ? "L" : "M", x, scale.y(below[i]));
    }
    std::for_each(back.rbegin(), back.rend(), [&](const std::string& point) { outline += point; });
    out += fmt::format("<path class=\"area {}\" d=\"{}Z\"><title>{}</title></path>", class_of(c), outline,
                       kCategoryNames[c]);
  }
  return out;
}

}  // namespace

std::string timeline_svg(const Timeline& t, std::optional<Bytes> capacity) {
  if (t.samples.empty()) return "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
  const TimelineSample& peak = t.samples[t.peak];
  Bytes top = std::max(peak.live, Bytes(1));
  // A card four times as large would press the picture to the ground.
  const bool shown = capacity && capacity->count() / 4 < top.count();
  if (shown) top = std::max(top, *capacity);
  const SvgFrame scale(0, event(std::max<std::size_t>(t.events, 1)), top);
  std::string out = svg_head("timeline", "live bytes over the events of a step");
  out += phases(t, scale) + scale.axis() + areas(t, scale);
  if (shown) out += scale.capacity(*capacity, "what the card leaves: " + format_bytes(*capacity));
  const double x = scale.x(event(peak.event)), y = scale.y(peak.live);
  out += fmt::format(
      "<line class=\"peak\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2}\"/><circle class=\"peak\" "
      "cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\"/>"
      "<text class=\"label {5}\" x=\"{3:.1f}\" y=\"{4}\">peak {6}, {7}</text></svg>",
      x, y, kHeight - kBottom, x > kWidth / 2 ? x - 6 : x + 6, kHeight - 10, x > kWidth / 2 ? "left" : "right",
      format_bytes(peak.live), name_of(peak.phase));
  return out;
}

std::string curve_svg(const Curve& c, std::optional<Bytes> capacity) {
  Bytes top(1);
  for (const CurvePoint& p : c.points) top = std::max(top, std::max(p.device_used, p.peak));
  const bool shown = capacity && capacity->count() / 4 < top.count();
  if (shown) top = std::max(top, *capacity);
  const auto last = static_cast<double>(c.points.size());
  const SvgFrame scale(1, last, top);
  std::string out = svg_head("curve", "memory against the number of segments") + scale.axis();
  if (shown) out += scale.capacity(*capacity, "capacity: " + format_bytes(*capacity));
  for (const auto& [name, bytes] :
       {std::pair{"device used", &CurvePoint::device_used}, std::pair{"peak of tensors", &CurvePoint::peak}}) {
    std::string line, dots;
    for (const CurvePoint& p : c.points) {
      const double x = scale.x(static_cast<double>(p.segments)), y = scale.y(p.*bytes);
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y);
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>N = {}: {} {}</title></circle>", x, y,
                          p.segments, name, format_bytes(p.*bytes));
    }
    out += fmt::format("<g class=\"{}\"><path d=\"{}\"/>{}</g>", bytes == &CurvePoint::peak ? "tensors" : "device",
                       line, dots);
  }
  out += fmt::format(
      "<text class=\"label\" x=\"{}\" y=\"{}\">N = 1</text><text class=\"label left\" x=\"{}\" y=\"{}\">N = {}</text>",
      SvgFrame::kLeft, kHeight - 10, kWidth - SvgFrame::kRight, kHeight - 10, c.points.size());
  return out + "</svg>";
}

std::string_view picture_style() {
  return R"(
.picture{width:100%;height:auto;font:11px system-ui,sans-serif}
.picture .label{fill:var(--ink)}.picture .left{text-anchor:end}
.picture .tick{fill:var(--quiet);text-anchor:end}.picture .grid{stroke:var(--line)}
.timeline .phase{fill:transparent}.timeline .recompute,.timeline .loss{fill:var(--shade)}.timeline .optimizer{fill:var(--shade)}
.timeline .peak{stroke:var(--ink);fill:var(--ink)}.picture .capacity{stroke:var(--bad);stroke-width:2;stroke-dasharray:6 4}
.curve path{fill:none;stroke-width:2}.curve .tensors{stroke:#4269d0;fill:#4269d0}.curve .device{stroke:#ff725c;fill:#ff725c}
.parameter{fill:#4269d0;background:#4269d0}.master-weight{fill:#6f8fe0;background:#6f8fe0}.optimizer-state{fill:#97bbf5;background:#97bbf5}
.gradient{fill:#3ca951;background:#3ca951}.activation{fill:#ff725c;background:#ff725c}.boundary{fill:#9c6b4e;background:#9c6b4e}
.recomputed-activation{fill:#ffb1a3;background:#ffb1a3}.activation-gradient{fill:#a463f2;background:#a463f2}
.temporary{fill:#efb118;background:#efb118}.workspace{fill:#9498a0;background:#9498a0}
.communication-buffer{fill:#6cc5b0;background:#6cc5b0}.input{fill:#444;background:#444}
)";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

}  // namespace vramplan
