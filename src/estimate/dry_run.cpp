#include "estimate/dry_run.h"

#include <algorithm>
#include <numeric>

#include "hardware/speed_of.h"

namespace vramplan {

namespace {

TrainOptions shortened(TrainOptions o) {
  o.accumulate = std::min(o.accumulate, kDistinctMicroBatches);
  return o;
}

}  // namespace

DryRun::DryRun(const CheckedJob& checked)
    : backend_(speed_of(checked->card.value_or(reference_card()), checked->calibration.efficiency)),
      trainer_(backend_, checked->model, shortened(checked->run)) {
  backend_.follow(trainer_.ledger());
  steps_[0] = trainer_.step();
  const Work before = backend_.work();
  steps_[1] = trainer_.step();
  const double times = static_cast<double>(checked->run.accumulate) / static_cast<double>(steps_[1].micro.size());
  for (std::size_t p = 0; p < before.flops.size(); ++p) {
    const double repeated = static_cast<Phase>(p) == Phase::optimizer ? 1 : times;
    work_.flops[p] = (backend_.work().flops[p] - before.flops[p]) * repeated;
    work_.seconds[p] = (backend_.work().seconds[p] - before.seconds[p]) * repeated;
  }
  peak_ = ledger().peak(steps_[1].micro[0].forward, steps_[1].after);
}

double DryRun::flops() const { return std::accumulate(work_.flops.begin(), work_.flops.end(), 0.0); }

Bytes DryRun::first_peak() const { return ledger().peak(steps_[0].micro[0].forward, steps_[0].after).tally.requested; }

Phase DryRun::peak_phase() const { return peak_.at == 0 ? Phase::init : ledger().events()[peak_.at - 1].phase; }

std::vector<PhasePeak> phase_peaks(const Ledger& ledger, const StepMarks& step) {
  std::array<Bytes, kPhaseNames.size()> highest{};
  Bytes live;
  for (Ledger::Instant i = 0; i < step.after; ++i) {
    const Event& e = ledger.events()[i];
    const Bytes before = live;  // a phase begins with what the one before it left
    if (e.kind == Event::Kind::allocate)
      live += ledger.record(e.record).bytes;
    else if (e.kind == Event::Kind::release)
      live -= ledger.record(e.record).bytes;
    const bool counts = e.phase == Phase::init || i >= step.micro[0].forward;
    Bytes& high = highest[static_cast<std::size_t>(e.phase)];
    if (counts) high = std::max({high, before, live});
  }
  std::vector<PhasePeak> out;
  for (std::size_t p = 0; p < highest.size(); ++p)
    if (highest[p] > Bytes()) out.push_back({static_cast<Phase>(p), highest[p]});
  return out;
}

std::vector<PhasePeak> DryRun::phases() const { return phase_peaks(ledger(), steps_[1]); }

std::optional<DryRun::Allocator> DryRun::replay(const AllocatorOptions& options, Bytes workspace) const {
  Replay r(ledger(), options, KernelMemory::of_pytorch(workspace));
  if (!r.run(steps_[0].micro[0].forward)) return std::nullopt;
  r.reset_peaks();
  if (!r.run(steps_[1].micro[0].forward)) return std::nullopt;
  const ReplayPeaks first = r.peaks();
  r.reset_peaks();
  if (!r.run(steps_[1].after)) return std::nullopt;
  return Allocator{r.peaks(), r.retries(), first};
}

std::vector<DryRun::AllocatorPhase> DryRun::allocator_phases(const AllocatorOptions& options,
                                                             const KernelMemory& kernels) const {
  Replay replay(ledger(), options, kernels);
  std::array<AllocatorPhase, kPhaseNames.size()> highest{};
  Phase current = Phase::init;
  const auto book = [&] {
    AllocatorPhase& h = highest[static_cast<std::size_t>(current)];
    h = {current, std::max(h.allocated, replay.peaks().allocated), std::max(h.reserved, replay.peaks().reserved)};
    replay.reset_peaks();
  };
  replay.run(steps_[1].micro[0].forward);
  for (Ledger::Instant i = steps_[1].micro[0].forward; i < steps_[1].after; ++i) {
    const Event& e = ledger().events()[i];
    const bool moves = e.kind == Event::Kind::allocate || e.kind == Event::Kind::release;
    if (moves && e.phase != current) {
      book();
      current = e.phase;
    }
    replay.run(i + 1);
  }
  book();
  std::vector<AllocatorPhase> out;
  for (const AllocatorPhase& h : highest)
    if (h.phase != Phase::init) out.push_back(h);
  return out;
}

std::vector<SegmentLayout> DryRun::layout_at_peak(const AllocatorOptions& options, Bytes workspace) const {
  Replay first(ledger(), options, KernelMemory::of_pytorch(workspace));
  if (!first.run(steps_[1].micro[0].forward)) return {};
  first.reset_peaks();
  if (!first.run(steps_[1].after)) return {};
  Replay again(ledger(), options, KernelMemory::of_pytorch(workspace));
  again.run(std::max(first.peak_at(), steps_[1].micro[0].forward));
  return again.layout();
}

Bytes DryRun::states() const {
  Bytes sum;
  for (const Ledger::Alive& a : ledger().alive(steps_[0].end))
    if (a.category == Category::parameter || a.category == Category::optimizer_state ||
        a.category == Category::master_weight)
      sum += ledger().record(a.record).bytes;
  return sum;
}

Bytes DryRun::held() const {
  return ledger().live(steps_[0].micro[0].backward).requested - ledger().live(trainer_.ready()).requested;
}

}  // namespace vramplan
