// Backends with a meter of their own: bytes that live, counted where they are allocated and not where the ledger books
// them, and their highest by phase.
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>

#include "backend/cuda.h"
#include "backend/host.h"
#include "tensor/ledger.h"
#include "vramplan/base/error.h"

namespace vramplan {

class PhaseMeter {
 public:
  void follow(const Ledger& ledger) { ledger_ = &ledger; }
  Phase phase() const { return ledger_ ? ledger_->phase() : Phase::init; }
  /// What is being allocated now: "forward: layer 3 mlp, mul [2, 8, 16] of bf16"; before a ledger is followed, "init".
  std::string newest() const;
  /// Forgets the highest so far.
  void reset() { highest_.fill(0); }
  Bytes highest(Phase p) const { return Bytes(highest_[static_cast<std::size_t>(p)]); }

  void take(Bytes n) { move(live_ + n.count()); }
  void give(Bytes n) { move(live_ - n.count()); }

 private:
  /// A phase begins with what the one before it left.
  void move(std::uint64_t to) {
    std::uint64_t& high = highest_[static_cast<std::size_t>(phase())];
    high = std::max({high, live_, to});
    live_ = to;
  }
  const Ledger* ledger_ = nullptr;
  std::uint64_t live_ = 0;
  std::array<std::uint64_t, kPhaseNames.size()> highest_{};
};

class MeteredHost final : public HostBackend {
 public:
  PhaseMeter meter;
  void reset() { meter.reset(); }
  void synchronise() const {}

  std::byte* allocate(Bytes n) override {
    meter.take(n);
    return HostBackend::allocate(n);
  }
  void release(std::byte* p, Bytes n) override {
    meter.give(n);
    HostBackend::release(p, n);
  }
};

/// Peaks of the card's allocator in a phase, and of the whole card as the driver has it.
struct CardPeaks {
  Bytes allocated, reserved, device_used;
  std::optional<Bytes> process;  ///< of the card, as NVML has it; nothing where it does not tell
};

class MeteredCuda final : public CudaBackend {
 public:
  using Look = std::function<std::optional<Bytes>()>;
  /// `look` tells what this process has of the card; it may be slow, and is asked only when that has changed.
  MeteredCuda(CudaDriver& driver, const CudaOptions& options, Look look = {})
      : CudaBackend(driver, options), driver_(driver), look_(std::move(look)) {}
  PhaseMeter meter;
  void reset() {
    meter.reset();
    peaks_.fill({});
    memory().allocator().reset_peaks();
    phase_ = Phase::init;
  }
  CardPeaks peaks(Phase p) {
    book();
    return peaks_[static_cast<std::size_t>(p)];
  }

  std::byte* allocate(Bytes n) override {
    turn();
    try {
      std::byte* p = CudaBackend::allocate(n);
      meter.take(n);
      return p;
    } catch (const UserError& e) {  // told here: unwinding releases what lives
      throw UserError(e.what(), meter.newest(), e.hint, e.status);
    }
  }
  void release(std::byte* p, Bytes n) override {
    turn();
    meter.give(n);
    CudaBackend::release(p, n);
  }

 private:
  void turn() {
    if (meter.phase() == phase_) return;
    book();
    phase_ = meter.phase();
  }
  /// What the phase so far reached. The card's use moves only with what is reserved, and that falls only when memory
  /// ran out.
  void book() {
    CachingAllocator& a = memory().allocator();
    CardPeaks& p = peaks_[static_cast<std::size_t>(phase_)];
    if (a.reserved() != looked_at_) {
      const CudaDriver::Memory m = driver_.memory();
      device_used_ = m.total - m.free;
      process_ = look_ ? look_() : std::nullopt;
      looked_at_ = a.reserved();
    }
    p = {std::max(p.allocated, a.peak_allocated()), std::max(p.reserved, a.peak_reserved()),
         std::max(p.device_used, device_used_), std::max(p.process, process_)};
    a.reset_peaks();
  }
  CudaDriver& driver_;
  Look look_;
  Bytes looked_at_ = Bytes(UINT64_MAX), device_used_;  ///< looked_at_: reserved bytes, when the other two were read
  std::optional<Bytes> process_;
  Phase phase_ = Phase::init;
  std::array<CardPeaks, kPhaseNames.size()> peaks_{};
};

}  // namespace vramplan
