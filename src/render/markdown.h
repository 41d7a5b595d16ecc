// An estimate or a rehearsal as Markdown tables, for an issue, a pull request or a wiki. What comes from the user is
// escaped.
#pragma once
#include <string>

#include "rehearse/rehearsal.h"

namespace vramplan {

/// `command` reproduces it.
std::string estimate_markdown(const Estimate& e, const std::string& command);
std::string rehearsal_markdown(const Rehearsal& r);

}  // namespace vramplan
