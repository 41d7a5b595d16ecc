#include "estimate/overhead.h"

namespace vramplan {
Bytes workspace_bytes(int compute_capability) { return Bytes(compute_capability == 90 ? 32 * kMiB : 8519680); }

Overhead overhead_of(const Job& job) {
  return {job.calibration.context.value_or(Bytes(kGiB * 6 / 10)), workspace_bytes(job.run.device.compute_capability)};
}

std::vector<UncertaintyPart> uncertainty_parts(const Job& job) {
  if (job.calibration.context) return {};
  return {{"context: up to 0.9 GiB seen", Bytes(kGiB * 3 / 10)}};
}

}  // namespace vramplan
