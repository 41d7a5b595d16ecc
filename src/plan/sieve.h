// Leaves out, without running them, jobs that cannot fit for certain: whose tensors alone are more than the card has.
#pragma once
#include <memory>

#include "plan/composed.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

class Sieve {
 public:
  /// Whether the job's tensors, composed from short runs, and the context exceed the card. False when that is not
  /// known. Cheap for a job that differs from the one before in its card, its layers or its segments only.
  bool too_large(const Job& job);

 private:
  std::unique_ptr<Composition> composition_;
  Job of_;
};

}  // namespace vramplan
