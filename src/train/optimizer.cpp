#include "train/optimizer.h"

#include <stdexcept>

#include "tape/elementwise.h"
#include "tape/view.h"

namespace vramplan {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEps = 1e-8;

Tensor gradient_of(const Parameter& p) { return Tensor(p.tensor->grad); }

Tensor like(Tape& t, const Tensor& x, const char* op) { return t.memory().empty_like(x, x.dtype(), op); }

}  // namespace

OptimizerState::OptimizerState(Tape& t, const Optimizer& options, bool master_weights)
    : tape_(t), options_(options), master_(master_weights && !options.on_host) {}

Tensor OptimizerState::target(const Parameter& p, std::size_t i) const { return master_ ? slots_[i].master : p.tensor; }

Tensor OptimizerState::state_like(const Tensor& target, const char* op) const {
  Restore category(tape_.memory().category, Category::optimizer_state);
  Tensor s = like(tape_, target, op);
  tape_.backend().fill(s, 0);
  return s;
}

void OptimizerState::prepare(const std::vector<Parameter>& parameters) {
  slots_.resize(parameters.size());
  if (options_.on_host)
    for (const Parameter& p : parameters) host_bytes_ += host_share(p);
  if (!master_) return;
  Restore category(tape_.memory().category, Category::master_weight);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    slots_[i].master = tape_.memory().empty_like(parameters[i].tensor, DType::fp32, "master_weight");
    tape_.backend().unary(Unary::copy, slots_[i].master, parameters[i].tensor, 0);
  }
}

/// On the host: an fp32 copy of the weights, a copy of the gradients as they are, two fp32 states.
Bytes OptimizerState::host_share(const Parameter& p) const {
  const Bytes wide = storage_bytes(DType::fp32, p.tensor.numel());
  return wide + wide + wide + storage_bytes(p.tensor.dtype(), p.tensor.numel());
}

void OptimizerState::make_states(const std::vector<Parameter>& parameters) {
  if (options_.kind == OptimizerKind::sgd || options_.kind == OptimizerKind::muon) return;  // made where first used
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (options_.kind == OptimizerKind::adafactor) {
      adafactor_states(parameters[i], i);
      continue;
    }
    const Tensor w = target(parameters[i], i);
    Slot& s = slots_[i];
    if (options_.form == OptimizerForm::fused) {
      Restore category(tape_.memory().category, Category::optimizer_state);
      s.counter = tape_.memory().empty({}, DType::fp32, "step");
    }
    s.first = state_like(w, "exp_avg");
    s.second = state_like(w, "exp_avg_sq");
    if (options_.amsgrad) s.largest = state_like(w, "max_exp_avg_sq");
  }
}

void OptimizerState::make_momentum(const Parameter& p, std::size_t i) {
  if (options_.momentum > 0 && !slots_[i].first) slots_[i].first = state_like(target(p, i), "momentum_buffer");
}

void OptimizerState::step(const std::vector<Parameter>& parameters) {
  Restore no_grad(tape_.grad_enabled, false);
  ++steps_;
  if (options_.on_host) return;
  if (options_.states != StateStorage::as_parameter) {
    bitsandbytes(parameters);
  } else {
    if (steps_ == 1) make_states(parameters);
    switch (options_.kind) {
      case OptimizerKind::sgd: sgd(parameters); break;
      case OptimizerKind::adafactor: adafactor(parameters); break;
      case OptimizerKind::muon: muon(parameters); break;
      case OptimizerKind::adamw:
      case OptimizerKind::adam: adam(parameters); break;
      case OptimizerKind::lion: throw std::logic_error("Lion's states are bitsandbytes'");
    }
  }
  if (master_)
    for (std::size_t i = 0; i < parameters.size(); ++i) publish(parameters[i], i);
}

void OptimizerState::adam(const std::vector<Parameter>& parameters) {
  const bool foreach = options_.form == OptimizerForm::foreach, loop = options_.form == OptimizerForm::for_loop;
  const bool l2 = options_.kind == OptimizerKind::adam && options_.weight_decay != 0;
  std::vector<Tensor> list;
  auto narrow = [&](const Parameter& p) { return p.tensor->grad && p.tensor->grad->dtype != DType::fp32; };
  for (std::size_t i = 0; foreach && master_ && i < parameters.size(); ++i)
    if (narrow(parameters[i]))
      list.push_back(tape_.memory().empty_like(parameters[i].tensor, DType::fp32, "grad_fp32"));
  for (std::size_t i = 0; foreach && l2 && i < parameters.size(); ++i)
    list.push_back(like(tape_, target(parameters[i], i), "_foreach_add"));
  list.clear();
  Tensor denominator;  // a Python local: the one of the last parameter lives until this one's is bound
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor w = target(parameters[i], i);
    if (foreach) list.push_back(like(tape_, w, "_foreach_sqrt"));
    Tensor wide, decayed;
    if (loop && master_ && narrow(parameters[i])) wide = tape_.memory().empty_like(w, DType::fp32, "grad_fp32");
    if (loop && l2) decayed = like(tape_, w, "add");
    if (loop) {
      const Tensor root = like(tape_, w, "sqrt");
      denominator = like(tape_, w, "div");
    }
    apply_adam(parameters[i], i);
  }
}

void OptimizerState::apply_adam(const Parameter& p, std::size_t i) {
  if (!p.tensor->grad) return;
  const Slot& s = slots_[i];
  tape_.backend().adam(target(p, i), gradient_of(p), s.first, s.second, adam_args());
}

AdamArgs OptimizerState::adam_args() const {
  const bool fused = options_.form == OptimizerForm::fused || options_.states != StateStorage::as_parameter;
  return {options_.lr, kBeta1, kBeta2, kEps, options_.weight_decay, steps_, options_.kind != OptimizerKind::adam,
          fused};
}

void OptimizerState::sgd(const std::vector<Parameter>& parameters) {
  const bool foreach = options_.form == OptimizerForm::foreach, loop = options_.form == OptimizerForm::for_loop;
  std::vector<Tensor> list;
  for (std::size_t i = 0; foreach && options_.weight_decay != 0 && i < parameters.size(); ++i)
    list.push_back(like(tape_, target(parameters[i], i), "_foreach_add"));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor decayed;
    if (loop && options_.weight_decay != 0) decayed = like(tape_, target(parameters[i], i), "add");
    make_momentum(parameters[i], i);
    apply_sgd(parameters[i], i);
  }
}

void OptimizerState::apply_sgd(const Parameter& p, std::size_t i) {
  if (!p.tensor->grad) return;
  const Tensor w = target(p, i), g = gradient_of(p), buffer = slots_[i].first;
  Backend& b = tape_.backend();
  // w -= lr * (g + decay * w), or through the buffer: m = momentum * m + g + decay * w, w -= lr * m.
  if (buffer) {
    b.unary(Unary::scale, buffer, buffer, options_.momentum);
    b.accumulate(buffer, g, 1);
    if (options_.weight_decay != 0) b.accumulate(buffer, w, options_.weight_decay);
    b.accumulate(w, buffer, -options_.lr);
  } else {
    if (options_.weight_decay != 0) b.unary(Unary::scale, w, w, 1 - options_.lr * options_.weight_decay);
    b.accumulate(w, g, -options_.lr);
  }
}

void OptimizerState::publish(const Parameter& p, std::size_t i) {
  tape_.backend().unary(Unary::copy, p.tensor, slots_[i].master, 0);
}

}  // namespace vramplan
