// What pages have in common: the frame with its style and script, cells of bytes, the picture of a timeline.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "vramplan/base/bytes.h"
#include "vramplan/estimate/timeline.h"

namespace vramplan {

/// A document that needs nothing else. `body` is markup, `title` is text.
std::string page(std::string_view title, std::string_view body);

/// With the exact number in data-bytes.
std::string bytes_cell(Bytes b);

/// "does not fit" as a class: "does-not-fit".
std::string dashed(std::string name);

/// The picture with a line at `capacity`, where it says something, and its samples for the script.
std::string timeline_part(const Timeline& t, std::optional<Bytes> capacity);

}  // namespace vramplan
