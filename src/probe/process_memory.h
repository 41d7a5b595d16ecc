// What the operating system says of memory (Linux, /proc).
#pragma once
#include <optional>

#include "vramplan/base/bytes.h"

namespace vramplan {

/// Of this process now, and at most so far.
Bytes resident_now();
Bytes resident_highest();
/// What the machine can give without swapping; nothing where it does not say.
std::optional<Bytes> memory_available();

}  // namespace vramplan
