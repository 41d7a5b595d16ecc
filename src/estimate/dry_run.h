// Two dry steps of a job, and what is read from their ledger.
#pragma once
#include <array>

#include "allocator/replay.h"
#include "backend/dry.h"
#include "train/trainer.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// The third and every later micro-batch repeats the second: two with gradients already there show all there is.
inline constexpr std::int64_t kDistinctMicroBatches = 3;

/// The highest live bytes of each phase of a step; of init, before the first.
std::vector<PhasePeak> phase_peaks(const Ledger& ledger, const StepMarks& step);

class DryRun {
 public:
  explicit DryRun(const CheckedJob& checked);
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  const Ledger& ledger() const { return trainer_.ledger(); }
  /// The highest instant of the second step.
  const Ledger::Peak& peak() const { return peak_; }
  /// The most that tensors took in the first step, as requested.
  Bytes first_peak() const;
  const StepMarks& second_step() const { return steps_[1]; }
  Phase peak_phase() const;
  std::vector<PhasePeak> phases() const;
  /// What the caching allocator shows for the second step; nothing when it runs out of memory.
  struct Allocator {
    ReplayPeaks peaks;
    int retries = 0;
    ReplayPeaks first;  ///< of the first step
  };
  std::optional<Allocator> replay(const AllocatorOptions& options, Bytes workspace) const;
  /// Peaks of the allocator in each phase of the second step.
  struct AllocatorPhase {
    Phase phase;
    Bytes allocated, reserved;
  };
  std::vector<AllocatorPhase> allocator_phases(const AllocatorOptions& options, const KernelMemory& kernels) const;
  /// The segments at the allocated peak of the second step; empty when memory runs out before.
  std::vector<SegmentLayout> layout_at_peak(const AllocatorOptions& options, Bytes workspace) const;
  Bytes states() const;  ///< live between steps, without gradients and inputs
  Bytes host() const { return trainer_.host_bytes(); }
  Bytes held() const;
  const std::vector<SdpaChoice>& sdpa_choices() const { return trainer_.tape().sdpa_choices; }
  double flops() const;                       ///< of the second step
  const Work& work() const { return work_; }  ///< of the second step

 private:
  DryBackend backend_;
  Trainer trainer_;
  std::array<StepMarks, 2> steps_;
  Work work_;
  Ledger::Peak peak_;
};

}  // namespace vramplan
