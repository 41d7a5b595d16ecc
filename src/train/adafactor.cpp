// torch.optim.Adafactor (torch/optim/_adafactor.py): which tensors its two forms make, and when they go.
#include <string_view>

#include "tape/elementwise.h"
#include "train/optimizer.h"

namespace vramplan {
namespace {

Dims with_one(const Dims& shape, int dim) {
  Dims d = shape;
  d[d.size() - static_cast<std::size_t>(-dim)] = 1;
  return d;
}

bool is_matrix(const Parameter& p) { return p.tensor.rank() > 1; }

}  // namespace

void OptimizerState::adafactor_states(const Parameter& p, std::size_t i) {
  Restore category(tape_.memory().category, Category::optimizer_state);
  const Tensor w = target(p, i);
  if (!is_matrix(p)) {
    slots_[i].first = filled(tape_, w.shape(), w.dtype(), 0, "variance");
    return;
  }
  slots_[i].first = filled(tape_, with_one(w.shape(), -1), w.dtype(), 0, "row_var");
  slots_[i].second = filled(tape_, with_one(w.shape(), -2), w.dtype(), 0, "col_var");
}

void OptimizerState::adafactor(const std::vector<Parameter>& parameters) {
  Memory& m = tape_.memory();
  if (options_.form == OptimizerForm::foreach) {
    std::vector<Tensor> updates;  // a Python local of the loop over groups: one group's lives into the next
    adafactor_group(parameters, true, updates);
    adafactor_group(parameters, false, updates);
    return;
  }
  Tensor row_mean, column_mean, squared, update;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor w = target(parameters[i], i);
    { const Tensor norm = m.empty({}, w.dtype(), "linalg_vector_norm"); }
    Tensor estimate;
    if (is_matrix(parameters[i])) {
      row_mean = m.empty(slots_[i].first.shape(), w.dtype(), "linalg_vector_norm");
      column_mean = m.empty(slots_[i].second.shape(), w.dtype(), "linalg_vector_norm");
      estimate = m.empty(w.shape(), w.dtype(), "mm");
      m.ledger().product(Event::Kind::product);
      const Tensor mean = m.empty({1, 1}, w.dtype(), "mean");
    } else {
      squared = m.empty(w.shape(), w.dtype(), "mul");
      estimate = m.empty(w.shape(), w.dtype(), "clone");
    }
    update = std::move(estimate);
    { const Tensor norm = m.empty({}, w.dtype(), "linalg_vector_norm"); }
    apply_adafactor(parameters[i], i);
  }
}

/// All matrices, or all other parameters, at once.
void OptimizerState::adafactor_group(const std::vector<Parameter>& parameters, bool matrices,
                                     std::vector<Tensor>& updates) {
  Memory& m = tape_.memory();
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (is_matrix(parameters[i]) == matrices) members.push_back(i);
  auto all = [&](auto shape, const char* op) {
    std::vector<Tensor> list;
    for (std::size_t i : members) {
      list.push_back(m.empty(shape(i), target(parameters[i], i).dtype(), op));
      if (std::string_view(op) == "mm") m.ledger().product(Event::Kind::product);
    }
    return list;
  };
  auto whole = [&](std::size_t i) { return parameters[i].tensor.shape(); };
  auto one_by_one = [&] {
    for (std::size_t i : members)
      const Tensor norm = m.empty({}, target(parameters[i], i).dtype(), "linalg_vector_norm");
  };
  one_by_one();
  std::vector<Tensor> estimates;
  if (matrices) {
    {
      const auto row_means = all([&](std::size_t i) { return slots_[i].first.shape(); }, "linalg_vector_norm");
    }
    {
      const auto column_means = all([&](std::size_t i) { return slots_[i].second.shape(); }, "linalg_vector_norm");
    }
    estimates = all(whole, "mm");
    const auto means = all([](std::size_t) { return Dims{1, 1}; }, "mean");
  } else {
    { const auto squared = all(whole, "_foreach_mul"); }
    estimates = all(whole, "clone");
  }
  updates = std::move(estimates);
  one_by_one();
  for (std::size_t i : members) apply_adafactor(parameters[i], i);
}

void OptimizerState::apply_adafactor(const Parameter& p, std::size_t i) {
  if (!p.tensor->grad) return;
  const Slot& s = slots_[i];
  const bool matrix = is_matrix(p);
  tape_.backend().adafactor(target(p, i), Tensor(p.tensor->grad), matrix ? s.first : Tensor(), s.second,
                            matrix ? Tensor() : s.first, {options_.lr, options_.weight_decay, steps_});
}

}  // namespace vramplan
