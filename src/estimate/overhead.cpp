#include "estimate/overhead.h"

namespace vramplan {
Bytes workspace_bytes(int compute_capability) { return Bytes(compute_capability == 90 ? 32 * kMiB : 8519680); }

Overhead default_overhead(const std::optional<Card>& card) {
  return {Bytes(kGiB * 6 / 10), workspace_bytes(card ? card->compute_capability : 80)};
}

std::vector<UncertaintyPart> uncertainty_parts() { return {{"context: up to 0.9 GiB seen", Bytes(kGiB * 3 / 10)}}; }

}  // namespace vramplan
