#include "render/svg_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vramplan {

double SvgFrame::y(Bytes b) const {
  return kHeight - kBottom -
         (kHeight - kTop - kBottom) * static_cast<double>(b.count()) /
             static_cast<double>(std::max(top_, Bytes(1)).count());
}

std::string SvgFrame::axis() const {
  const double rough = static_cast<double>(top_.count()) / 5,
               unit = std::exp2(std::floor(std::log2(std::max(rough, 1.0))));
  const auto step = Bytes(static_cast<std::uint64_t>(std::max(unit, 1.0)));
  std::string out;
  for (Bytes b; b <= top_; b += step)
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"tick\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}</text>",
        kLeft, kWidth - kRight, y(b), kLeft - 6, y(b) + 4, format_bytes(b));
  return out;
}

std::string SvgFrame::capacity(Bytes b, const std::string& title) const {
  return fmt::format(
      "<line class=\"capacity\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"><title>{3}</title></line>", kLeft,
      kWidth - kRight, y(b), title);
}

std::string svg_head(const std::string& kind, const std::string& label) {
  return fmt::format(
      "<svg class=\"picture {}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">",
      kind, SvgFrame::kWidth, SvgFrame::kHeight, label);
}

}  // namespace vramplan
