// An estimate as one page that needs nothing else: no network, no font, a small script for the tooltip only.
#pragma once
#include <string>

#include "vramplan/estimate/estimate.h"
#include "vramplan/estimate/timeline.h"
#include "vramplan/plan/plan.h"

namespace vramplan {

/// `command` reproduces the estimate. Every figure is one of the estimate's or the timeline's, with its exact bytes in
/// data-bytes.
std::string estimate_html(const Estimate& e, const Timeline& t, const Curve& c, const std::string& command);

/// The timeline alone, as a file of its own.
std::string timeline_svg_file(const Timeline& t);

}  // namespace vramplan
