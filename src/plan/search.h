// The largest number for which something holds, without trusting that it holds for all smaller ones.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

namespace vramplan {

/// The largest of low, low + step, low + 2 step ... up to high that `fits`; nothing when none does. Gallops and halves
/// as if fitting were monotone, then asks a few larger values; if one of those fits after all, it asks every value up
/// to it.
std::optional<std::int64_t> largest_that_fits(std::int64_t low, std::int64_t high, std::int64_t step,
                                              const std::function<bool(std::int64_t)>& fits);

}  // namespace vramplan
