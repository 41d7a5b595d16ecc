// The host backend with a meter of its own: bytes that live, counted where they are allocated and not where the ledger
// books them, and their highest by phase.
#pragma once
#include <algorithm>
#include <array>

#include "backend/host.h"
#include "tensor/ledger.h"

namespace vramplan {

class MeteredHost final : public HostBackend {
 public:
  void follow(const Ledger& ledger) { ledger_ = &ledger; }
  /// Forgets the highest so far.
  void reset() { highest_.fill(0); }
  Bytes highest(Phase p) const { return Bytes(highest_[static_cast<std::size_t>(p)]); }

  std::byte* allocate(Bytes n) override {
    note();
    live_ += n.count();
    note();
    return HostBackend::allocate(n);
  }
  void release(std::byte* p, Bytes n) override {
    note();
    live_ -= n.count();
    note();
    HostBackend::release(p, n);
  }

 private:
  void note() {
    std::uint64_t& high = highest_[static_cast<std::size_t>(ledger_ ? ledger_->phase() : Phase::init)];
    high = std::max(high, live_);
  }
  const Ledger* ledger_ = nullptr;
  std::uint64_t live_ = 0;
  std::array<std::uint64_t, kPhaseNames.size()> highest_{};
};

}  // namespace vramplan
