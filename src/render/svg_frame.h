// The frame of a picture: a scale from quantities to points, and lines of equal bytes with their labels.
#pragma once
#include <string>

#include "vramplan/base/bytes.h"

namespace vramplan {

class SvgFrame {
 public:
  static constexpr double kWidth = 960, kHeight = 320, kLeft = 70, kRight = 20, kTop = 26, kBottom = 28;

  /// `from` to `to` go to the right, 0 to `top` bytes up.
  SvgFrame(double from, double to, Bytes top) : from_(from), span_(to > from ? to - from : 1), top_(top) {}
  double x(double value) const { return kLeft + (kWidth - kLeft - kRight) * (value - from_) / span_; }
  double y(Bytes b) const;
  /// Lines a power of two of bytes apart, five to ten of them.
  std::string axis() const;
  /// A dashed line over the whole width.
  std::string capacity(Bytes b, const std::string& title) const;

 private:
  double from_, span_;
  Bytes top_;
};

/// "<svg ...>" for a picture of this class.
std::string svg_head(const std::string& kind, const std::string& label);

}  // namespace vramplan
