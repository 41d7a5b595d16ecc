// The inverse questions: the largest micro-batch or sequence that fits, the smallest card, the least recomputation.
// Each is answered by running jobs, never by a formula.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// One job that was run, and how its recomputation compares with the other candidates.
struct Candidate {
  std::string what;  ///< "per-layer", "micro-batch 7", "rtx-4090"
  Job job;
  Verdict verdict = Verdict::unknown;
  Bytes device_used, capacity;
  double recompute_share = 0;  ///< FLOPs of recomputation over those of the step without any
  std::optional<StepTime> time;
  bool frontier = false;     ///< nothing else needs less memory for no more recomputation
  std::string dominated_by;  ///< the candidate that does, when this is not on the frontier
};

struct Plan {
  std::string question;
  std::optional<std::size_t> answer;  ///< among the candidates; nothing: none fits
  std::vector<Candidate> candidates;
  std::vector<std::string> notes;
};

struct PlanOptions {
  bool allow_tight = false;   ///< count verdict `tight` as fitting
  std::int64_t multiple = 1;  ///< of sequence lengths
  bool thorough = true;       ///< every N; else about twelve of each kind, and all near the best of them
};

/// The largest micro-batch of the job that fits its card. Throws UserError without a card.
Plan largest_micro_batch(const Job& job, const PlanOptions& options);
/// The largest sequence length, a multiple of options.multiple.
Plan longest_sequence(const Job& job, const PlanOptions& options);
/// The card with the least usable memory on which the job fits; with `prices` (USD an hour), the cheapest of those
/// priced.
struct Price {
  std::string card;
  double usd_an_hour;
};
Plan smallest_card(const Job& job, const std::vector<Card>& cards, const std::vector<Price>& prices,
                   const PlanOptions& options);
/// Ways of checkpointing that frameworks can execute, the one with the least recomputation that fits, and the
/// frontier of memory against recomputation.
Plan least_recompute(const Job& job, const PlanOptions& options);

/// Memory against the number of segments: one point for every N, each a whole step.
struct CurvePoint {
  std::int64_t segments = 0;
  Bytes held;             ///< after forward
  Bytes peak;             ///< of tensors, in the whole step
  Bytes activation_peak;  ///< of tensors, before the optimizer
  Bytes device_used;
  double recompute_share = 0;
  std::optional<StepTime> time;
  Verdict verdict = Verdict::unknown;
};
/// Lines to hold the curve against, of activations held, in bytes.
struct Textbook {
  Bytes layer;                          ///< A: what one layer keeps, by differences of whole steps
  Bytes boundary;                       ///< B: what one more segment keeps
  double best_segments = 0;             ///< sqrt(L A / B), where N B + (L / N) A is lowest
  Bytes best;                           ///< 2 sqrt(L A B)
  Bytes recursive;                      ///< Chen et al. 2016, section 4.3, halving: ceil(log2 L) B + A
  std::int64_t recursive_forwards = 0;  ///< forward passes more for that: ceil(log2 L)
};
struct Curve {
  Job job;
  CurvePoint without;              ///< checkpointing, N = 0
  std::vector<CurvePoint> points;  ///< N = 1 ... L
  std::int64_t best = 0;           ///< N of the lowest peak; of equal ones that with the lowest before the optimizer
  std::int64_t root = 0;           ///< N nearest to the square root of L (Chen et al. 2016)
  Textbook textbook;
  Checkpointing uneven;                    ///< runs of unequal lengths, from the dynamic programme over bytes ...
  std::optional<CurvePoint> uneven_point;  ///< ... and the step with them, run; nothing for a single layer
};
Curve segments_curve(const Job& job);

/// The ways of checkpointing that a model of `layers` layers has: none, parts of layers, per layer, N segments and
/// checkpoint_sequential for every N, every k-th layer, the first k; with `step` only each step-th of those with a
/// number.
std::vector<Checkpointing> all_strategies(const ModelConfig& model, std::int64_t step = 1);

}  // namespace vramplan
