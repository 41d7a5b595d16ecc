// The events of a ledger played through the caching allocator: what max_memory_allocated and max_memory_reserved show.
#pragma once
#include "allocator/caching.h"
#include "tensor/ledger.h"

namespace vramplan {

struct ReplayPeaks {
  Bytes allocated, reserved;
  Bytes workspace, scratch;  ///< of `allocated`: cuBLAS's workspace, and what other kernels had taken for themselves
};

/// What kernels take for themselves while they run; nothing by default, as our own do.
struct KernelMemory {
  Bytes product;         ///< a workspace, taken and given back at each matrix product
  Bytes biased_product;  ///< of those that add a bias in the same call
  bool scratch = false;  ///< what the ledger books as taken by kernels

  /// cuBLAS's workspace (nothing leaves them out), 1 MiB for cuBLASLt: CUBLASLT_WORKSPACE_SIZE's default.
  static KernelMemory of_pytorch(Bytes workspace) {
    return {workspace, workspace == Bytes() ? Bytes() : Bytes(kMiB), true};
  }
};

class Replay {
 public:
  Replay(const Ledger& ledger, const AllocatorOptions& options, const KernelMemory& kernels)
      : ledger_(ledger), kernels_(kernels), allocator_(options) {}

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
  struct Live {
    Bytes workspace, scratch;
  };
  bool allocate(Bytes bytes, CachingAllocator::Handle handle);

  const Ledger& ledger_;
  KernelMemory kernels_;
  CachingAllocator allocator_;
  Ledger::Instant at_ = 0, peak_at_ = 0;
  Live live_, at_peak_;
};

}  // namespace vramplan
