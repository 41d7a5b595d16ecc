#include "allocator/replay.h"

namespace vramplan {
namespace {

constexpr Bytes kLtWorkspace(kMiB);                 ///< CUBLASLT_WORKSPACE_SIZE's default
constexpr CachingAllocator::Handle kWorkspace = 0;  ///< records follow it

CachingAllocator::Handle handle_of(const Event& e) { return e.record + 1; }

}  // namespace

Replay::Replay(const Ledger& ledger, const AllocatorOptions& options, Bytes workspace)
    : ledger_(ledger), workspace_(workspace), allocator_(options) {}

bool Replay::run(Ledger::Instant to) {
  for (; at_ < to; ++at_) {
    const Event& e = ledger_.events()[at_];
    switch (e.kind) {
      case Event::Kind::allocate:
        if (!allocator_.allocate(ledger_.record(e.record).bytes, handle_of(e))) return false;
        break;
      case Event::Kind::release: allocator_.release(handle_of(e)); break;
      case Event::Kind::product:
      case Event::Kind::biased_product:
        if (workspace_ == Bytes()) break;
        if (!allocator_.allocate(e.kind == Event::Kind::product ? workspace_ : kLtWorkspace, kWorkspace)) return false;
        allocator_.release(kWorkspace);
        break;
      case Event::Kind::reclassify: break;
    }
  }
  return true;
}

}  // namespace vramplan
