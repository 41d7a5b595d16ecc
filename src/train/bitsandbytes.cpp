// Optimizers of bitsandbytes 0.50 (bitsandbytes/optim/optimizer.py): which states they make in the first step,
// parameter by parameter. One kernel updates a parameter and takes nothing.
#include "model/names.h"
#include "train/optimizer.h"

namespace vramplan {
namespace {

constexpr std::int64_t kSmallest8Bit = 4096;  // min_8bit_size
constexpr std::int64_t kShared = 256;         // of numbers that share a scale
constexpr std::int64_t kCodes = 256;          // of a code book
constexpr std::int64_t kSmallestPaged = 100000;

}  // namespace

/// A state of one parameter; null when it is paged, and so the host's.
Tensor OptimizerState::bitsandbytes_state(const Tensor& w, bool blockwise, const char* op) {
  const DType dtype = blockwise ? DType::int8 : DType::fp32;
  if (options_.paged && w.numel() >= kSmallestPaged) {
    host_bytes_ += storage_bytes(dtype, w.numel());
    return {};
  }
  Tensor s = tape_.memory().empty(w.shape(), dtype, op);
  tape_.backend().fill(s, 0);
  return s;
}

void OptimizerState::make_bitsandbytes_states(const Parameter& p, std::size_t i) {
  Memory& m = tape_.memory();
  Restore category(m.category, Category::optimizer_state);
  const Tensor w = target(p, i);
  Slot& s = slots_[i];
  const int states = options_.kind == OptimizerKind::lion ? 1 : 2;
  const bool blockwise = options_.states == StateStorage::blockwise && w.numel() >= kSmallest8Bit &&
                         !(options_.fp32_embeddings && is_embedding(p.name));
  for (int n = 0; blockwise && maps_.size() < static_cast<std::size_t>(states) && n < states; ++n)
    maps_.push_back(m.empty({kCodes}, DType::fp32, "qmap"));
  s.first = bitsandbytes_state(w, blockwise, "state1");
  if (states == 2) s.second = bitsandbytes_state(w, blockwise, "state2");
  if (!blockwise) return;
  const Dims blocks{(w.numel() + kShared - 1) / kShared};
  auto scales = [&](const char* op) {
    Tensor t = m.empty(blocks, DType::fp32, op);
    tape_.backend().fill(t, 0);
    return t;
  };
  s.first_scales = scales("absmax1");
  if (states == 2) s.second_scales = scales("absmax2");
}

void OptimizerState::bitsandbytes(const std::vector<Parameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].tensor->grad) continue;
    if (!std::exchange(slots_[i].made, true)) make_bitsandbytes_states(parameters[i], i);
    apply_bitsandbytes(parameters[i], i);
  }
}

void OptimizerState::apply_bitsandbytes(const Parameter& p, std::size_t i) {
  const Slot& s = slots_[i];
  const bool lion = options_.kind == OptimizerKind::lion;
  if (!s.first || (!lion && !s.second)) return;  // the kernel works on pages that no backend here holds
  const Tensor w = target(p, i), g(p.tensor->grad);
  Backend& b = tape_.backend();
  if (lion && s.first_scales)
    b.lion_blockwise(w, g, {s.first, s.first_scales}, adam_args());
  else if (lion)
    b.lion(w, g, s.first, adam_args());
  else if (s.first_scales)
    b.adam_blockwise(w, g, {s.first, s.first_scales}, {s.second, s.second_scales}, adam_args());
  else
    b.adam(w, g, s.first, s.second, adam_args());
}

}  // namespace vramplan
