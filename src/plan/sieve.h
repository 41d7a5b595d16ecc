// Leaves out, without running them, jobs that cannot fit for certain: whose tensors alone are more than the card has.
#pragma once
#include <memory>

#include "plan/micro_batches.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

class Sieve {
 public:
  /// The micro-batches that will be asked for.
  Sieve(std::int64_t from, std::int64_t to) : from_(from), to_(to) {}
  /// Whether the job's tensors, composed from short runs, and the context exceed the card. False when that is not
  /// known. Cheap for a job that differs from the one before in its card, its layers, its segments or its micro-batch
  /// only.
  bool too_large(const Job& job);

 private:
  std::int64_t from_, to_;
  std::unique_ptr<MicroBatches> batches_;
  Job of_;
};

}  // namespace vramplan
