// The largest number for which something holds, without trusting that it holds for all smaller ones.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

namespace vramplan {

using Question = std::function<bool(std::int64_t)>;

/// The largest of low, low + step, low + 2 step ... up to high that `fits`; nothing when none does. Gallops and halves
/// as if fitting were monotone. Then, with `possible`, which is monotone and holds wherever `fits` does, it asks the
/// next 64 that are possible from the largest down; without it, or where none of them fits, a few larger values, and
/// those that follow one that fits after all.
std::optional<std::int64_t> largest_that_fits(std::int64_t low, std::int64_t high, std::int64_t step,
                                              const Question& fits, const Question& possible = {});

}  // namespace vramplan
