// What can be changed about a run to make it need less memory, one change a row: as a flag, as the setting of a
// framework, and as a change of the job.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "vramplan/estimate/job.h"

namespace vramplan {

/// A change that was made to a job.
struct LeverUse {
  std::string flags;    ///< to add; "without --x" for one to take away
  std::string setting;  ///< of a framework; empty where there is none
};

struct Lever {
  const char* name;         ///< levers of one name exclude each other
  bool same_training;       ///< the same numbers come out, but for rounding
  const char* consequence;  ///< what else changes, for people; empty: nothing
  /// Changes the job, or returns nothing when it is so already or cannot be.
  std::optional<LeverUse> (*pull)(Job& job);
};

/// In the order people would rather have them.
std::span<const Lever> all_levers();

}  // namespace vramplan
