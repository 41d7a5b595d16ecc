// The events of a ledger played through the caching allocator: what max_memory_allocated and max_memory_reserved show.
#pragma once
#include "allocator/caching.h"
#include "tensor/ledger.h"

namespace vramplan {

struct ReplayPeaks {
  Bytes allocated, reserved;
  Bytes workspace, scratch;  ///< of `allocated`: cuBLAS's workspace, and what other kernels had taken for themselves
};

class Replay {
 public:
  /// PyTorch's kernels: `workspace` is taken and returned at each matrix product (0 leaves it out), and what kernels
  /// take for themselves.
  Replay(const Ledger& ledger, const AllocatorOptions& options, Bytes workspace)
      : Replay(ledger, options, workspace, true) {}
  /// Kernels that take nothing for themselves: those of our own.
  Replay(const Ledger& ledger, const AllocatorOptions& options) : Replay(ledger, options, {}, false) {}

  /// Play on to instant `to`. False when the memory is exhausted, at the event `failed_at`.
  bool run(Ledger::Instant to);
  /// Peaks since the last reset.
  ReplayPeaks peaks() const {
    return {allocator_.peak_allocated(), allocator_.peak_reserved(), at_peak_.workspace, at_peak_.scratch};
  }
  void reset_peaks() {
    allocator_.reset_peaks();
    at_peak_ = {};
  }
  /// The instant at which the allocated peak since the last reset was reached.
  Ledger::Instant peak_at() const { return peak_at_; }
  std::vector<SegmentLayout> layout() const { return allocator_.layout(); }
  Ledger::Instant failed_at() const { return at_; }
  int retries() const { return allocator_.retries(); }

 private:
  Replay(const Ledger& ledger, const AllocatorOptions& options, Bytes workspace, bool scratch)
      : ledger_(ledger), workspace_(workspace), takes_scratch_(scratch), allocator_(options) {}
  struct Kernels {
    Bytes workspace, scratch;
  };
  bool allocate(Bytes bytes, CachingAllocator::Handle handle);

  const Ledger& ledger_;
  Bytes workspace_;
  bool takes_scratch_;
  CachingAllocator allocator_;
  Ledger::Instant at_ = 0, peak_at_ = 0;
  Kernels live_, at_peak_;
};

}  // namespace vramplan
