// "Did you mean": the known name closest to an unknown one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

/// Insertions, deletions, substitutions and swaps of neighbours, letters compared without case.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to `word`, or "" when none is near enough to be a slip of the hand.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean 'x'?" or `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string_view otherwise);

}  // namespace vramplan
