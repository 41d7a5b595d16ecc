// A timeline as a picture: live bytes against events, stacked by category, phases shaded, the peak marked. No script,
// no font, no colour of its own beyond classes that follow light and dark.
#pragma once
#include <optional>
#include <string>

#include "vramplan/estimate/estimate.h"
#include "vramplan/estimate/timeline.h"
#include "vramplan/plan/plan.h"

namespace vramplan {

/// An <svg> element, which a page can hold or a file. `capacity` draws a line at what the card leaves to tensors.
std::string timeline_svg(const Timeline& t, std::optional<Bytes> capacity);

/// Peak of tensors and device used for every N, with `capacity` as a line.
std::string curve_svg(const Curve& c, std::optional<Bytes> capacity);

/// Rules for their classes, in both colour schemes.
std::string_view picture_style();

/// "&lt;": text that becomes part of a page.
std::string escaped(std::string_view text);

}  // namespace vramplan
