#include "probe/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/fnv.h"
#include "estimate/dry_run.h"
#include "probe/metered.h"
#include "probe/process_memory.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using Clock = std::chrono::steady_clock;

/// Gradients of every step, as checksums in the order of the parameters.
struct Gradients {
  std::vector<std::string> names;
  std::vector<std::uint64_t> sums;
};

/// Over the bytes of a tensor as they lie in storage.
std::uint64_t checksum(const Tensor& t) {
  Fnv hash;
  const std::byte* data = t->storage->data;
  for (std::uint64_t i = 0; i < t->storage->bytes.count(); ++i) hash.add(static_cast<std::uint64_t>(data[i]));
  return hash.value();
}

/// One trainer on the host, and what was seen of it.
class HostRun {
 public:
  explicit HostRun(const Job& job) : job_(job), trainer_(host_, job.model, job.run) { host_.follow(trainer_.ledger()); }

  const Trainer& trainer() const { return trainer_; }
  const MeteredHost& host() const { return host_; }
  /// Turns the sign of one weight, of the last parameter: every token goes through that.
  void change_a_bit() {
    const Tensor& w = trainer_.weights().trainable.back().tensor;
    w->storage->data[item_size(w.dtype()) - 1] ^= std::byte{0x80};
  }

  /// One step, and its seconds. The meter counts from its start.
  double step() {
    host_.reset();
    const auto start = Clock::now();
    marks_ = trainer_.step();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  const StepMarks& marks() const { return marks_; }

  /// Forward and backward of every micro-batch, without the optimizer; adds the gradients' checksums.
  void gradients(Gradients& out) {
    for (std::int64_t i = 0; i < job_.run.accumulate; ++i) trainer_.forward_backward();
    for (const Parameter& p : trainer_.weights().trainable)
      if (p.tensor->grad) {
        out.names.push_back(p.name);
        out.sums.push_back(checksum(Tensor(p.tensor->grad)));
      }
    trainer_.zero_grad();
  }

 private:
  const Job& job_;
  MeteredHost host_;
  Trainer trainer_;
  StepMarks marks_;
};

Job without_checkpointing(Job job) {
  job.run.checkpoint = {};
  return job;
}

ProbedTime quartiles(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  auto at = [&](double share) {
    return seconds[static_cast<std::size_t>(std::lround(share * static_cast<double>(seconds.size() - 1)))];
  };
  return {at(0.5), at(0.25), at(0.75), static_cast<int>(seconds.size())};
}

bool same(const Ledger& a, const Ledger& b, Ledger::Instant to) {
  if (a.now() < to || b.now() < to) return false;
  for (Ledger::Instant i = 0; i < to; ++i) {
    const Event &x = a.events()[i], &y = b.events()[i];
    if (x.kind != y.kind || x.record != y.record || x.category != y.category || x.phase != y.phase ||
        a.record(x.record).bytes != b.record(y.record).bytes)
      return false;
  }
  return true;
}

Bytes peak_in(const std::vector<PhasePeak>& phases, Phase phase) {
  for (const PhasePeak& p : phases)
    if (p.phase == phase) return p.peak;
  return {};
}

/// The phases of the second step: the first makes optimizer states, the second has them from the start.
void compare_phases(Probe& out, HostRun& run, const DryRun& predicted) {
  run.step();
  run.step();
  const auto expected = predicted.phases();
  const auto booked = phase_peaks(run.trainer().ledger(), run.marks());
  for (const PhasePeak& p : expected)
    if (p.phase != Phase::init)
      out.phases.push_back({p.phase, p.peak, peak_in(booked, p.phase), run.host().highest(p.phase)});
  out.events = static_cast<std::int64_t>(run.marks().after);
  out.same_events = same(run.trainer().ledger(), predicted.ledger(), run.marks().after);
}

void time_steps(ProbedTime& out, HostRun& run, int steps) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(steps));
  for (int i = 0; i < steps; ++i) seconds.push_back(run.step());
  out = quartiles(std::move(seconds));
}

/// Two passes on fresh weights each: the second sees whether random numbers went on alike.
Gradients two_passes(const Job& job, bool change_a_bit) {
  HostRun run(job);
  if (change_a_bit) run.change_a_bit();
  Gradients g;
  run.gradients(g);
  run.gradients(g);
  return g;
}

void compare_gradients(Probe& out, const Job& job, bool self_test) {
  const Gradients with = two_passes(job, false), without = two_passes(without_checkpointing(job), false);
  out.gradients = static_cast<std::int64_t>(with.sums.size());
  out.bitwise = with.sums == without.sums ? Bitwise::equal : Bitwise::different;
  for (std::size_t i = 0; i < std::min(with.sums.size(), without.sums.size()); ++i)
    if (with.sums[i] != without.sums[i]) {
      const std::size_t each = with.sums.size() / 2;
      out.first_difference = fmt::format("{}, pass {}", with.names[i], i / std::max<std::size_t>(each, 1) + 1);
      break;
    }
  if (self_test) out.self_test = two_passes(job, true).sums != with.sums;
}

void refuse_if_too_large(const DryRun& predicted) {
  const auto room = memory_available();
  const Bytes need = predicted.peak().tally.requested;
  if (room && need > *room)
    throw UserError(fmt::format("the step needs {} and the host has {} free", format_bytes(need), format_bytes(*room)),
                    "probe train", "take a smaller model, micro-batch or sequence");
}

}  // namespace

std::string_view name_of(Bitwise b) {
  switch (b) {
    case Bitwise::equal: return "equal";
    case Bitwise::different: return "different";
    case Bitwise::not_run: return "not run";
  }
  return "";
}

Probe probe_train(const Job& asked, const ProbeOptions& options) {
  check_job(asked);
  if (asked.run.optimizer.on_host || asked.run.checkpoint.on_host)
    throw UserError("the host has nothing to offload to", "--offload", "leave it out", Exit::usage);
  Probe out;
  out.job = asked;
  // The third micro-batch stands for all later ones, as in the prediction.
  out.job.run.accumulate = std::min(asked.run.accumulate, kDistinctMicroBatches);
  const Job& job = out.job;
  out.backend = "host";
  const Bytes before = resident_now();
  {
    const DryRun predicted(job);
    refuse_if_too_large(predicted);
    HostRun run(job);
    compare_phases(out, run, predicted);
    out.resident = resident_highest() > before ? resident_highest() - before : Bytes();
    time_steps(out.time, run, options.steps);
    if (job.run.checkpoint.kind == CheckpointKind::none) return out;
    const DryRun plain(without_checkpointing(job));
    out.predicted_overhead = predicted.flops() / plain.flops() - 1;
  }
  {
    const Job plain = without_checkpointing(job);
    HostRun run(plain);
    run.step();
    time_steps(out.without_checkpointing.emplace(), run, options.steps);
  }
  // A step in backward leaves no gradients to look at.
  if (!job.run.optimizer.in_backward) compare_gradients(out, job, options.self_test);
  return out;
}

bool agrees(const Probe& p) {
  for (const ProbedPhase& phase : p.phases)
    if (phase.predicted != phase.ledger || phase.ledger != phase.measured) return false;
  return p.same_events && p.bitwise != Bitwise::different && p.self_test.value_or(true);
}

}  // namespace vramplan
