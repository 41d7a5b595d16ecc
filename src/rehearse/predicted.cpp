#include "rehearse/predicted.h"

#include <algorithm>

#include "estimate/dry_run.h"
#include "estimate/overhead.h"

namespace vramplan {

PredictedRun predict_run(const Job& job) {
  PredictedRun out{estimate(job), {{"forward", {}, {}}, {"backward", {}, {}}, {"optimizer", {}, {}}}};
  const DryRun run(check_job(job));
  const KernelMemory kernels = KernelMemory::of_pytorch(overhead_of(job).workspace);
  for (const DryRun::AllocatorPhase& p : run.allocator_phases(parse_alloc_conf(job.allocator), kernels)) {
    const bool forward = p.phase == Phase::forward || p.phase == Phase::loss;
    RehearsedPhase& to = out.phases[forward ? 0 : p.phase == Phase::optimizer ? 2 : 1];
    to.allocated = std::max(to.allocated, p.allocated);
    to.reserved = std::max(to.reserved, p.reserved);
  }
  return out;
}

}  // namespace vramplan
