// The allocator's segments at the peak, as a picture of what is used and what is free.
#pragma once
#include <string>

#include "render/table.h"

namespace vramplan {

/// Empty when the estimate has none. Segments that look alike are one line; the rest beyond the largest are summed.
std::string segments_table(const Estimate& e, const TextStyle& style);

}  // namespace vramplan
