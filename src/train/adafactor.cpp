// torch.optim.Adafactor (torch/optim/_adafactor.py): which tensors its two forms make, and when they go.
#include <string_view>

#include "tape/elementwise.h"
#include "tape/kernel_scratch.h"
#include "train/optimizer.h"

namespace vramplan {
namespace {

Dims with_one(const Dims& shape, int dim) {
  Dims d = shape;
  d[d.size() - static_cast<std::size_t>(-dim)] = 1;
  return d;
}

bool is_matrix(const Parameter& p) { return p.tensor.rank() > 1; }

/// What a reduction's kernel takes while it runs.
void reduce(Memory& m, const ReduceScratch& s) {
  const Scratch accumulator(m, s.accumulator, "norm accumulator"), partial(m, s.partial, "norm parts"),
      semaphores(m, s.semaphores, "norm semaphores");
}

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

/// Over all of a parameter, or of its update.
void OptimizerState::adafactor_norm(const Tensor& w) {
  Memory& m = tape_.memory();
  const Tensor norm = m.empty({}, w.dtype(), "linalg_vector_norm");
  reduce(m, whole_sum_scratch(tape_.device, w.numel(), item_size(w.dtype())));
}

/// Of the norms over the rows of a matrix, and of the mean of its row variances.
ReduceScratch OptimizerState::column_scratch(const Tensor& w) const {
  return column_sum_scratch(tape_.device, w.numel() / w.size(-1), w.size(-1), item_size(w.dtype()));
}
ReduceScratch OptimizerState::row_mean_scratch(const Tensor& w) const {
  return whole_sum_scratch(tape_.device, w.numel() / w.size(-1), item_size(w.dtype()));
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
    adafactor_norm(w);
    Tensor estimate;
    if (is_matrix(parameters[i])) {
      row_mean = m.empty(slots_[i].first.shape(), w.dtype(), "linalg_vector_norm");
      column_mean = m.empty(slots_[i].second.shape(), w.dtype(), "linalg_vector_norm");
      reduce(m, column_scratch(w));
      estimate = m.empty(w.shape(), w.dtype(), "mm");
      m.ledger().product(Event::Kind::product);
      const Tensor mean = m.empty({1, 1}, w.dtype(), "mean");
      reduce(m, row_mean_scratch(w));
    } else {
      squared = m.empty(w.shape(), w.dtype(), "mul");
      estimate = m.empty(w.shape(), w.dtype(), "clone");
    }
    update = std::move(estimate);
    adafactor_norm(w);
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
  auto all = [&](auto shape, const char* op, auto scratch) {
    std::vector<Tensor> list;
    for (std::size_t i : members) {
      list.push_back(m.empty(shape(i), target(parameters[i], i).dtype(), op));
      if (std::string_view(op) == "mm") m.ledger().product(Event::Kind::product);
      reduce(m, scratch(target(parameters[i], i)));
    }
    return list;
  };
  auto none = [](const Tensor&) { return ReduceScratch{}; };
  auto whole = [&](std::size_t i) { return parameters[i].tensor.shape(); };
  auto one_by_one = [&] {
    for (std::size_t i : members) adafactor_norm(target(parameters[i], i));
  };
  one_by_one();
  std::vector<Tensor> estimates;
  if (matrices) {
    {
      const auto row_means = all([&](std::size_t i) { return slots_[i].first.shape(); }, "linalg_vector_norm", none);
    }
    {
      const auto column_means = all([&](std::size_t i) { return slots_[i].second.shape(); }, "linalg_vector_norm",
                                    [&](const Tensor& w) { return column_scratch(w); });
    }
    estimates = all(whole, "mm", none);
    const auto means = all(
        [](std::size_t) {
          return Dims{1, 1};
        },
        "mean", [&](const Tensor& w) { return row_mean_scratch(w); });
  } else {
    { const auto squared = all(whole, "_foreach_mul", none); }
    estimates = all(whole, "clone", none);
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
