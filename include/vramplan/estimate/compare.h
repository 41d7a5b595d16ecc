// Two jobs side by side: what differs in settings, what differs in bytes, and how much of that each setting causes when
// it is changed alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// A flag that has another value in the second job.
struct Change {
  std::string flag, from, to;  ///< no text: not given
  std::optional<Job> alone;    ///< the first job with this one changed; nothing: it cannot be run so
  std::string why_not;
};

struct Effect {
  Change change;
  std::optional<std::int64_t> device_used;  ///< bytes more, with this one changed
};

struct BytePair {
  std::string name;
  Bytes first, second;
  std::int64_t difference() const {
    return static_cast<std::int64_t>(second.count()) - static_cast<std::int64_t>(first.count());
  }
};

struct Comparison {
  Estimate first, second;
  std::vector<Effect> effects;  ///< the largest first
  std::int64_t together = 0;    ///< what the effects do not add up to: device used more than their sum
  std::vector<BytePair> counters, categories, phases;  ///< categories: the largest difference first
};

/// Throws as `estimate` does for the two jobs; a change that cannot stand alone is told in its row.
Comparison compare(const Job& first, const Job& second, const std::vector<Change>& changes);

}  // namespace vramplan
