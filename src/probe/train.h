// The step run for real and set beside its prediction: bytes phase by phase, times with and without checkpointing, and
// whether recomputation changes a single bit of any gradient.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramplan/estimate/job.h"
#include "vramplan/tensor/category.h"

namespace vramplan {

/// Three ways to know the same bytes: the prediction, the ledger of the run, and what was allocated while it ran.
struct ProbedPhase {
  Phase phase;
  Bytes predicted, ledger, measured;
};

/// Seconds of a step.
struct ProbedTime {
  double median = 0, lower = 0, upper = 0;  ///< quartiles
  int steps = 0;
};

enum class Bitwise { equal, different, not_run };
std::string_view name_of(Bitwise b);

struct Probe {
  Job job;
  std::string backend;
  std::vector<ProbedPhase> phases;  ///< of the second step
  std::int64_t events = 0;          ///< of the ledger
  bool same_events = false;         ///< prediction and run booked the same, event by event
  ProbedTime time;
  std::optional<ProbedTime> without_checkpointing;
  double predicted_overhead = 0;  ///< FLOPs of recomputation over those of the step without
  Bitwise bitwise = Bitwise::not_run;
  std::string first_difference;   ///< a parameter, and the step, whose gradients differ
  std::int64_t gradients = 0;     ///< compared
  std::optional<bool> self_test;  ///< a step with one changed bit was told apart; nothing: not asked for
  Bytes resident;                 ///< how far the process grew at most
};

struct ProbeOptions {
  int steps = 3;  ///< timed, after one to warm up; at least 1
  bool self_test = false;
};

/// Runs the job on the host. Throws UserError when the host's free memory is less than the prediction, as `estimate`
/// does, and Overflow.
Probe probe_train(const Job& job, const ProbeOptions& options);

/// Whether everything that was compared agrees.
bool agrees(const Probe& p);

}  // namespace vramplan
