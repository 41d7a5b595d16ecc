#include "render/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vramplan {
namespace {

constexpr double kWidth = 960, kHeight = 320, kLeft = 70, kRight = 20, kTop = 26, kBottom = 28;

/// Events to the right, bytes up.
class Scale {
 public:
  Scale(const Timeline& t, Bytes top)
      : events_(static_cast<double>(std::max<std::size_t>(t.events, 1))), top_(static_cast<double>(top.count())) {}
  double x(std::size_t event) const { return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(event) / events_; }
  double y(Bytes b) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * static_cast<double>(b.count()) / top_;
  }

 private:
  double events_, top_;
};

std::string class_of(std::size_t category) {
  std::string name(kCategoryNames[category]);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string phases(const Timeline& t, const Scale& scale) {
  std::string out;
  for (std::size_t i = 0; i < t.samples.size();) {
    const Phase phase = t.samples[i].phase;
    std::size_t end = i;
    while (end < t.samples.size() && t.samples[end].phase == phase) ++end;
    const double from = scale.x(i == 0 ? 0 : t.samples[i - 1].event), to = scale.x(t.samples[end - 1].event);
    out += fmt::format("<rect class=\"phase {0}\" x=\"{1:.1f}\" y=\"{2}\" width=\"{3:.1f}\" height=\"{4}\"/>",
                       name_of(phase), from, kTop, to - from, kHeight - kTop - kBottom);
    if (to - from > 60)
      out += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{}\">{}</text>", from + 4, kTop - 8, name_of(phase));
    i = end;
  }
  return out;
}

/// One area for each category that ever holds anything, the longest-lived at the bottom.
std::string areas(const Timeline& t, const Scale& scale) {
  std::string out;
  std::vector<Bytes> below(t.samples.size());
  for (std::size_t c = 0; c < kCategoryNames.size(); ++c) {
    if (std::all_of(t.samples.begin(), t.samples.end(),
                    [&](const TimelineSample& s) { return s.by_category[c] == Bytes(); }))
      continue;
    std::string outline;
    std::vector<std::string> back;
    for (std::size_t i = 0; i < t.samples.size(); ++i) {
      const double x = scale.x(t.samples[i].event);
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

/// Lines a power of two of bytes apart, five to ten of them.
std::string axis(const Scale& scale, Bytes top) {
  const double rough = static_cast<double>(top.count()) / 5,
               unit = std::exp2(std::floor(std::log2(std::max(rough, 1.0))));
  const auto step = Bytes(static_cast<std::uint64_t>(std::max(unit, 1.0)));
  std::string out;
  for (Bytes b; b <= top; b += step)
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"tick\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}</text>",
        kLeft, kWidth - kRight, scale.y(b), kLeft - 6, scale.y(b) + 4, format_bytes(b));
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
  const Scale scale(t, top);
  std::string out = fmt::format(
      "<svg class=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"live bytes over the "
      "events of a step\">",
      kWidth, kHeight);
  out += phases(t, scale) + axis(scale, top) + areas(t, scale);
  if (shown)
    out += fmt::format(
        "<line class=\"capacity\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"><title>what the card leaves: "
        "{3}</title></line>",
        kLeft, kWidth - kRight, scale.y(*capacity), format_bytes(*capacity));
  const double x = scale.x(peak.event), y = scale.y(peak.live);
  out += fmt::format(
      "<line class=\"peak\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2}\"/><circle class=\"peak\" "
      "cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\"/>"
      "<text class=\"label {5}\" x=\"{3:.1f}\" y=\"{4}\">peak {6}, {7}</text></svg>",
      x, y, kHeight - kBottom, x > kWidth / 2 ? x - 6 : x + 6, kHeight - 10, x > kWidth / 2 ? "left" : "right",
      format_bytes(peak.live), name_of(peak.phase));
  return out;
}

std::string_view timeline_style() {
  return R"(
.timeline{width:100%;height:auto;font:11px system-ui,sans-serif}
.timeline .label{fill:var(--ink)}.timeline .left{text-anchor:end}
.timeline .tick{fill:var(--quiet);text-anchor:end}.timeline .grid{stroke:var(--line)}
.timeline .phase{fill:transparent}.timeline .recompute,.timeline .loss{fill:var(--shade)}.timeline .optimizer{fill:var(--shade)}
.timeline .peak{stroke:var(--ink);fill:var(--ink)}.timeline .capacity{stroke:var(--bad);stroke-width:2;stroke-dasharray:6 4}
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
