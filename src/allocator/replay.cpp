#include "allocator/replay.h"

namespace vramplan {
namespace {

constexpr CachingAllocator::Handle kWorkspace = 0;  ///< records follow it

CachingAllocator::Handle handle_of(const Event& e) { return e.record + 1; }

}  // namespace

/// Notes what kernels hold whenever the peak is reached anew.
bool Replay::allocate(Bytes bytes, CachingAllocator::Handle handle) {
  const Bytes before = allocator_.peak_allocated();
  if (!allocator_.allocate(bytes, handle)) return false;
  if (allocator_.peak_allocated() > before) {
    at_peak_ = live_;
    peak_at_ = at_ + 1;
  }
  return true;
}

bool Replay::run(Ledger::Instant to) {
  for (; at_ < to; ++at_) {
    const Event& e = ledger_.events()[at_];
    if (!kernels_.scratch && (e.kind == Event::Kind::take || e.kind == Event::Kind::give)) continue;
    switch (e.kind) {
      case Event::Kind::take: live_.scratch += ledger_.record(e.record).bytes; [[fallthrough]];
      case Event::Kind::allocate:
        if (!allocate(ledger_.record(e.record).bytes, handle_of(e))) return false;
        break;
      case Event::Kind::give: live_.scratch -= ledger_.record(e.record).bytes; [[fallthrough]];
      case Event::Kind::release: allocator_.release(handle_of(e)); break;
      case Event::Kind::product:
      case Event::Kind::biased_product:
        live_.workspace = e.kind == Event::Kind::product ? kernels_.product : kernels_.biased_product;
        if (live_.workspace == Bytes()) break;
        if (!allocate(live_.workspace, kWorkspace)) return false;
        allocator_.release(kWorkspace);
        live_.workspace = {};
        break;
      case Event::Kind::reclassify: break;
    }
  }
  return true;
}

}  // namespace vramplan
