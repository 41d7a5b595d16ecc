// Where to cut a chain of unequal layers: by bytes, so that the peak of a step is lowest, or so that least is computed
// twice within a budget. Exact dynamic programmes over the closed form below (after Beaumont et al. 2019, with
// segments as frameworks run them: each is recomputed once, whole).
//
// At the end of forward a checkpointed run holds its first layer's input, a plain layer all it keeps. Backward goes
// through the runs from last to first; a checkpointed one is run again before. While layer l of a run i..j is gone
// through, alive are what the runs before hold, the input of i, what i..l keep, what l needs beside, and the gradients
// of all layers after l.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace vramplan {

struct ChainLayer {
  std::int64_t boundary = 0;  ///< its input, in bytes
  std::int64_t kept = 0;      ///< what it keeps for backward beside its input
  std::int64_t work = 0;      ///< what its backward needs at once beside
  std::int64_t gradient = 0;  ///< what its backward leaves: gradients of its parameters
  double forward = 0;         ///< multiplications and additions of its forward pass
};

/// Runs of consecutive layers, in order: n > 0 are n layers in one checkpointed run, n < 0 are -n plain ones.
struct Cuts {
  std::vector<std::int64_t> runs;
  std::int64_t peak = 0;  ///< bytes
  double recomputed = 0;  ///< multiplications and additions
};

/// The peak and recomputation of these runs, by the closed form. The runs must cover the chain.
Cuts cost_of(const std::vector<ChainLayer>& chain, std::vector<std::int64_t> runs);

/// The lowest peak with exactly `segments` checkpointed runs that cover the chain; 1 <= segments <= layers.
Cuts lowest_peak(const std::vector<ChainLayer>& chain, std::int64_t segments);

/// The least recomputation with a peak of at most `budget`; nothing when none is that low.
std::optional<Cuts> least_recomputed(const std::vector<ChainLayer>& chain, std::int64_t budget);

}  // namespace vramplan
