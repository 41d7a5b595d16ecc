// The step run for real and set beside its prediction: bytes phase by phase, times with and without checkpointing, and
// whether recomputation changes a single bit of any gradient.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/rates.h"
#include "vramplan/estimate/job.h"
#include "vramplan/tensor/category.h"

namespace vramplan {

/// Of a card: its allocator beside the simulation of it, and all that the card holds as its driver has it.
struct CardPhase {
  Bytes predicted_allocated, allocated, predicted_reserved, reserved, device_used;
  std::optional<Bytes> process;  ///< what NVML tells of this process
};

/// Three ways to know the same bytes: the prediction, the ledger of the run, and what was allocated while it ran.
struct ProbedPhase {
  Phase phase;
  Bytes predicted, ledger, measured;
  std::optional<CardPhase> card;
};

/// Seconds of a step.
struct ProbedTime {
  double median = 0, lower = 0, upper = 0;  ///< quartiles
  int steps = 0;
};

enum class Bitwise { equal, different, not_run };
std::string_view name_of(Bitwise b);

struct ProbedCard {
  std::string name, uuid;
  Bytes total, free;  ///< before the first tensor
  /// What is on the card and in no ledger, by name: other programs, context, kernels, rounding, cached blocks.
  struct Part {
    std::string name;
    Bytes bytes;
  };
  std::vector<Part> outside;
  Bytes context;            ///< of these, what this process had before its first tensor
  bool by_process = false;  ///< told by the driver for this process alone
};

struct Probe {
  Job job;
  std::string backend;              ///< "cuda", "host" or "dry"
  std::string why_not_cuda;         ///< where the choice was ours
  std::optional<ProbedCard> card;   ///< of cuda
  std::optional<CardRates> rates;   ///< where they were asked for
  bool cublas = false;              ///< made the products
  std::vector<ProbedPhase> phases;  ///< of the second step
  std::int64_t events = 0;          ///< of the ledger
  bool same_events = false;         ///< prediction and run booked the same, event by event
  std::optional<ProbedTime> time;   ///< nothing: nothing was computed
  std::optional<ProbedTime> without_checkpointing;
  double predicted_overhead = 0;  ///< FLOPs of recomputation over those of the step without
  double flops = 0;               ///< of a step
  Bitwise bitwise = Bitwise::not_run;
  std::string first_difference;   ///< a parameter, and the step, whose gradients differ
  std::int64_t gradients = 0;     ///< compared
  std::optional<bool> self_test;  ///< a step with one changed bit was told apart; nothing: not asked for
  Bytes resident;                 ///< how far the process grew at most
  std::vector<std::string> warnings;
};

enum class ProbeOn { automatic, cuda, host, dry };

struct ProbeOptions {
  int steps = 3;  ///< timed, after one to warm up; at least 1
  bool self_test = false;
  ProbeOn on = ProbeOn::host;
  int device = 0;       ///< of CUDA
  bool cublas = false;  ///< makes the products of a card
  bool rates = false;   ///< also measure how fast the card is
};

/// Runs the job. Throws UserError when what is free is less than the prediction, as `estimate` does, without a card
/// when one is demanded, with status 4 when memory runs out, and Overflow.
Probe probe_train(const Job& job, const ProbeOptions& options);

/// Whether everything that was compared agrees; of a dry run, that is nothing.
bool agrees(const Probe& p);

}  // namespace vramplan
