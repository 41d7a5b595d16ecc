// What a step is run on: how to make its backend, what is free there, and what it adds to a probe's report.
#pragma once
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "estimate/dry_run.h"
#include "probe/card_use.h"
#include "probe/metered.h"
#include "probe/process_memory.h"
#include "probe/train.h"
#include "vramplan/base/error.h"

namespace vramplan {

class HostRig {
 public:
  using Backend = MeteredHost;
  std::unique_ptr<MeteredHost> make() { return std::make_unique<MeteredHost>(); }
  /// Throws UserError when the step cannot fit.
  void check(const DryRun& predicted) const {
    const auto room = memory_available();
    const Bytes need = predicted.peak().tally.requested;
    if (room && need > *room)
      throw UserError(
          fmt::format("the step needs {} and the host has {} free", format_bytes(need), format_bytes(*room)),
          "probe train", "take a smaller model, micro-batch or sequence");
  }
  void report(Probe&, MeteredHost&, const DryRun&) const {}
};

/// NVML's view of a card, where there is NVML.
class CardLooks {
 public:
  CardLooks(const CudaDriver& driver, int device);
  /// Used by this process, or by all while it has no line of its own; nothing without NVML.
  Bytes now() { return use_ ? use_->now() : Bytes(); }
  std::optional<Bytes> more() { return use_ ? std::optional(use_->more()) : std::nullopt; }
  bool by_process() const { return use_ && use_->by_process(); }
  std::optional<Bytes> process();

 private:
  std::unique_ptr<Nvml> nvml_;
  std::optional<CardUse> use_;
};

class CardRig {
 public:
  using Backend = MeteredCuda;
  /// Enters the device and loads the kernels once, to see what that takes. Throws UserError without a driver or card,
  /// or without cuBLAS where that is asked for.
  CardRig(int device, const AllocatorOptions& allocator, bool cublas);
  std::unique_ptr<MeteredCuda> make() {
    return std::make_unique<MeteredCuda>(driver_, options_, [this] { return looks_.process(); });
  }
  CardRates rates(DType type) {
    CudaBackend backend(driver_, options_);
    return measure_rates(backend, type, card_.free);
  }
  void check(const DryRun& predicted) const;
  /// After the second step.
  void report(Probe& out, MeteredCuda& backend, const DryRun& predicted) const;

 private:
  /// Of our backend, which takes a workspace for each product that cuBLAS makes and nothing else.
  KernelMemory kernels() const { return {options_.workspace, options_.workspace, false}; }

  CudaDriver driver_;
  CardLooks looks_;
  std::unique_ptr<Cublas> cublas_;
  CudaOptions options_;
  ProbedCard card_;
};

}  // namespace vramplan
