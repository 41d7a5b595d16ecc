#include "train/optimizer_groups.h"

#include <algorithm>

#include "model/names.h"

namespace vramplan {

OptimizerGroups::OptimizerGroups(Tape& t, const Optimizer& options, bool master_weights,
                                 const std::vector<Parameter>& parameters)
    : tape_(t), in_backward_(options.in_backward) {
  if (in_backward_) {
    for (const Parameter& p : parameters) add(options, master_weights, {p});
    t.after_accumulate = [this](const TensorImpl& leaf) { step_in_backward(leaf); };
    return;
  }
  if (options.kind != OptimizerKind::muon) {
    add(options, master_weights, parameters);
    return;
  }
  std::vector<Parameter> matrices, others;
  for (const Parameter& p : parameters) (p.tensor.rank() == 2 && in_layer(p.name) ? matrices : others).push_back(p);
  Optimizer rest = options;
  rest.kind = OptimizerKind::adamw;
  add(options, master_weights, std::move(matrices));
  add(rest, master_weights, std::move(others));
}

OptimizerGroups::~OptimizerGroups() { tape_.after_accumulate = nullptr; }

void OptimizerGroups::add(const Optimizer& options, bool master_weights, std::vector<Parameter> parameters) {
  groups_.push_back(
      std::make_unique<Group>(Group{std::move(parameters), OptimizerState(tape_, options, master_weights)}));
  groups_.back()->state.prepare(groups_.back()->parameters);
}

void OptimizerGroups::step() {
  if (in_backward_) return;
  for (const auto& g : groups_) g->state.step(g->parameters);
}

/// The hook of register_post_accumulate_grad_hook: optimizer.step(), optimizer.zero_grad().
void OptimizerGroups::step_in_backward(const TensorImpl& leaf) {
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const auto& g) { return &g->parameters[0].tensor.impl() == &leaf; });
  if (group == groups_.end()) return;
  InPhase phase(tape_.memory(), Phase::optimizer);
  Restore category(tape_.memory().category, Category::temporary);
  (*group)->state.step((*group)->parameters);
  (*group)->parameters[0].tensor->grad.reset();
}

Bytes OptimizerGroups::host_bytes() const {
  Bytes sum;
  for (const auto& g : groups_) sum += g->state.host_bytes();
  return sum;
}

}  // namespace vramplan
