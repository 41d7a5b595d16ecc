// "Did you mean": the known name that an unknown one is a misspelling of. A suggestion never crosses a meaning: numbers
// must agree (llama-3 is not llama-2), only as many slips are forgiven as a word of that length can have, and what is
// known and not modelled is said to be so.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/not_modelled.h"

namespace vramplan {

/// Insertions, deletions, substitutions and swaps of neighbours, letters compared without case.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to `word`, or "" when none is near enough to be a slip of the hand.
std::string closest(std::string_view word, const std::vector<std::string>& candidates, Meant meant = Meant::word);

/// That `word` is not modelled, or "did you mean 'x'?", or `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string_view otherwise,
                         Meant meant = Meant::word);

}  // namespace vramplan
