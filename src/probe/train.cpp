#include "probe/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "probe/rig.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using Clock = std::chrono::steady_clock;

/// Gradients of every step, as checksums in the order of the parameters.
struct Gradients {
  std::vector<std::string> names;
  std::vector<std::uint64_t> sums;
};

/// A view of the first element.
Tensor first_element(const Tensor& t) {
  return Tensor(make_ref<TensorImpl>(t->storage, Dims{1}, Dims{1}, t->offset, t.dtype()));
}

/// One trainer on a rig's backend, and what was seen of it.
template <class Rig>
class Run {
 public:
  Run(Rig& rig, const CheckedJob& job) : job_(job), backend_(rig.make()), trainer_(*backend_, job->model, job->run) {
    backend_->meter.follow(trainer_.ledger());
  }

  const Trainer& trainer() const { return trainer_; }
  typename Rig::Backend& backend() { return *backend_; }
  /// Turns the sign of one weight, of the last parameter: every token goes through that.
  void change_a_bit() {
    const Tensor w = first_element(trainer_.weights().trainable.back().tensor);
    backend_->unary(Unary::neg, w, w, 0);
  }

  /// One step, and its seconds. The meter counts from its start.
  double step() {
    backend_->reset();
    backend_->synchronise();
    const auto start = Clock::now();
    marks_ = trainer_.step();
    backend_->synchronise();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  const StepMarks& marks() const { return marks_; }

  /// Forward and backward of every micro-batch, without the optimizer; adds the gradients' checksums.
  void gradients(Gradients& out) {
    for (std::int64_t i = 0; i < job_->run.accumulate; ++i) trainer_.forward_backward();
    for (const Parameter& p : trainer_.weights().trainable)
      if (p.tensor->grad) {
        out.names.push_back(p.name);
        out.sums.push_back(backend_->checksum(Tensor(p.tensor->grad)));
      }
    trainer_.zero_grad();
  }

 private:
  CheckedJob job_;
  std::unique_ptr<typename Rig::Backend> backend_;
  Trainer trainer_;
  StepMarks marks_;
};

CheckedJob without_checkpointing(Job job) {
  job.run.checkpoint = {};
  return check_job(std::move(job));
}

ProbedTime quartiles(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  auto at = [&](double share) {
    return seconds[static_cast<std::size_t>(std::lround(share * static_cast<double>(seconds.size() - 1)))];
  };
  return {at(0.5), at(0.25), at(0.75), static_cast<int>(seconds.size())};
}

Bytes peak_in(const std::vector<PhasePeak>& phases, Phase phase) {
  for (const PhasePeak& p : phases)
    if (p.phase == phase) return p.peak;
  return {};
}

/// The phases of the second step: the first makes optimizer states, the second has them from the start.
template <class Rig>
void compare_phases(Probe& out, Rig& rig, Run<Rig>& run, const DryRun& predicted) {
  run.step();
  run.step();
  const auto booked = phase_peaks(run.trainer().ledger(), run.marks());
  for (const PhasePeak& p : predicted.phases())
    if (p.phase != Phase::init)
      out.phases.push_back({p.phase, p.peak, peak_in(booked, p.phase), run.backend().meter.highest(p.phase), {}});
  out.events = static_cast<std::int64_t>(run.marks().after);
  out.same_events = same_events(run.trainer().ledger(), predicted.ledger(), run.marks().after);
  rig.report(out, run.backend(), predicted);
}

template <class Rig>
ProbedTime time_steps(Run<Rig>& run, int steps) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(steps));
  for (int i = 0; i < steps; ++i) seconds.push_back(run.step());
  return quartiles(std::move(seconds));
}

/// Two passes on fresh weights each: the second sees whether random numbers went on alike.
template <class Rig>
Gradients two_passes(Rig& rig, const CheckedJob& job, bool change_a_bit) {
  Run run(rig, job);
  if (change_a_bit) run.change_a_bit();
  Gradients g;
  run.gradients(g);
  run.gradients(g);
  return g;
}

template <class Rig>
void compare_gradients(Probe& out, Rig& rig, const CheckedJob& job, bool self_test) {
  const Gradients with = two_passes(rig, job, false),
                  without = two_passes(rig, without_checkpointing(job.job()), false);
  out.gradients = static_cast<std::int64_t>(with.sums.size());
  out.bitwise = with.sums == without.sums ? Bitwise::equal : Bitwise::different;
  for (std::size_t i = 0; i < std::min(with.sums.size(), without.sums.size()); ++i)
    if (with.sums[i] != without.sums[i]) {
      const std::size_t each = with.sums.size() / 2;
      out.first_difference = fmt::format("{}, pass {}", with.names[i], i / std::max<std::size_t>(each, 1) + 1);
      break;
    }
  if (self_test) out.self_test = two_passes(rig, job, true).sums != with.sums;
}

/// Whether the step without checkpointing has room as well.
template <class Rig>
bool fits(const Rig& rig, const DryRun& predicted) {
  try {
    rig.check(predicted);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

template <class Rig>
void probe_on(Rig& rig, Probe& out, const ProbeOptions& options) {
  const CheckedJob job = check_job(out.job);
  const Bytes before = resident_now();
  const DryRun predicted(job);
  out.flops = predicted.flops();
  rig.check(predicted);
  {
    Run run(rig, job);
    compare_phases(out, rig, run, predicted);
    out.resident = resident_highest() > before ? resident_highest() - before : Bytes();
    out.time = time_steps(run, options.steps);
  }
  if (job->run.checkpoint.kind == CheckpointKind::none) return;
  const CheckedJob plain = without_checkpointing(out.job);
  const DryRun without(plain);
  out.predicted_overhead = predicted.flops() / without.flops() - 1;
  if (!fits(rig, without)) return;
  {
    Run run(rig, plain);
    run.step();
    out.without_checkpointing = time_steps(run, options.steps);
  }
  // A step in backward leaves no gradients to look at.
  if (!job->run.optimizer.in_backward) compare_gradients(out, rig, job, options.self_test);
}

void predict_only(Probe& out) {
  const DryRun predicted(check_job(out.job));
  for (const PhasePeak& p : predicted.phases())
    if (p.phase != Phase::init) out.phases.push_back({p.phase, p.peak, {}, {}, {}});
  out.events = static_cast<std::int64_t>(predicted.second_step().after);
  out.same_events = true;
  out.flops = predicted.flops();
}

/// The card, or nothing where one is not demanded and there is none.
std::unique_ptr<CardRig> card_for(Probe& out, const ProbeOptions& options) {
  if (options.on != ProbeOn::cuda && options.on != ProbeOn::automatic) return nullptr;
  try {
    if (options.cublas)
      for (const std::string& setting : neutralise_fp32_overrides())
        out.warnings.push_back(fmt::format("{} is not followed: fp32 is multiplied in fp32", setting));
    return std::make_unique<CardRig>(options.device, parse_alloc_conf(out.job.allocator), options.cublas);
  } catch (const UserError& e) {
    if (options.on == ProbeOn::cuda) throw;
    out.why_not_cuda = e.what();
    return nullptr;
  }
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
  (void)check_job(asked);
  if (asked.run.optimizer.on_host || asked.run.checkpoint.on_host)
    throw UserError("the probe moves nothing between card and host", "--offload", "leave it out", Exit::usage);
  if (asked.run.fp8 && options.on != ProbeOn::dry)
    throw UserError("the probe's kernels know no 8-bit floats", "--fp8", "leave it out, or use --backend dry",
                    Exit::usage);
  Probe out;
  out.job = asked;
  // The third micro-batch stands for all later ones, as in the prediction.
  out.job.run.accumulate = std::min(asked.run.accumulate, kDistinctMicroBatches);
  if (options.on == ProbeOn::dry) {
    out.backend = "dry";
    predict_only(out);
  } else if (const auto card = card_for(out, options)) {
    out.backend = "cuda";
    out.cublas = options.cublas;
    probe_on(*card, out, options);
    const Precision p = out.job.run.precision;
    if (options.rates) out.rates = card->rates(autocast_type(p).value_or(parameter_type(p)));
  } else {
    out.backend = "host";
    HostRig host;
    probe_on(host, out, options);
  }
  return out;
}

bool agrees(const Probe& p) {
  if (p.backend == "dry") return true;  // nothing was measured, so nothing can be off
  for (const ProbedPhase& phase : p.phases) {
    if (phase.predicted != phase.ledger || phase.ledger != phase.measured) return false;
    if (phase.card && (phase.card->predicted_allocated != phase.card->allocated ||
                       phase.card->predicted_reserved != phase.card->reserved))
      return false;
  }
  return p.same_events && p.bitwise != Bitwise::different && p.self_test.value_or(true);
}

}  // namespace vramplan
