// Live bytes through the second step: at most so many samples, each the highest instant of a run of events, so that no
// peak is lost. Bytes of tensors as requested; what is bracketed in an estimate (context, slack) is no part of them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "vramplan/estimate/job.h"
#include "vramplan/tensor/category.h"

namespace vramplan {

struct TimelineSample {
  std::size_t event = 0;  ///< since the step began
  Phase phase = Phase::forward;
  int layer = -1;      ///< of the last allocation; -1 outside the layers
  std::string module;  ///< "self_attn"; may be empty
  Bytes live;
  std::array<Bytes, kCategoryNames.size()> by_category;  ///< sums to `live`
};

struct Timeline {
  std::size_t events = 0;  ///< of the step
  std::vector<TimelineSample> samples;
  std::size_t peak = 0;  ///< the highest of the samples: the step's peak
};

/// As many as a picture has room for.
inline constexpr std::size_t kTimelineSamples = 900;

/// Throws as `estimate` does, and std::invalid_argument for no samples.
Timeline timeline_of(const Job& job, std::size_t samples);

}  // namespace vramplan
