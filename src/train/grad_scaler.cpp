#include "train/grad_scaler.h"

#include "tape/elementwise.h"

namespace vramplan {
namespace {

constexpr double kScale = 65536;  ///< init_scale

Tensor number(Tape& t, DType dtype, double value, const char* op) { return filled(t, {}, dtype, value, op); }

}  // namespace

Tensor GradScaler::scale(const Tensor& loss) {
  if (!scale_) {
    scale_ = number(tape_, DType::fp32, kScale, "full");
    growth_tracker_ = number(tape_, DType::fp32, 0, "full");  // 4 bytes: int32 there
  }
  return mul(tape_, loss, scale_);
}

/// _unscale_grads_: both numbers are copied to each device that has gradients, and only the copy of what was found
/// stays.
void GradScaler::look_at_gradients() {
  const Tensor found = number(tape_, DType::fp32, 0, "full");
  const Tensor copied = number(tape_, DType::fp32, 1, "_to_copy");
  found_inf_ = number(tape_, DType::fp32, 0, "_to_copy");
  for (const Parameter& p : parameters_)
    if (p.tensor->grad) tape_.backend().unary(Unary::scale, Tensor(p.tensor->grad), Tensor(p.tensor->grad), 1 / kScale);
}

void GradScaler::unscale() {
  Tensor wide = number(tape_, DType::int64, 0, "_to_copy");  // 8 bytes: fp64 there, as is the next
  Tensor reciprocal = number(tape_, DType::int64, 0, "reciprocal");
  wide.reset();
  const Tensor inverse = number(tape_, DType::fp32, 1 / kScale, "_to_copy");
  reciprocal.reset();
  look_at_gradients();
  unscaled_ = true;
}

void GradScaler::before_step() {
  if (!fused_) {
    if (!unscaled_) unscale();
    return;
  }
  if (!unscaled_) {
    const Tensor one = number(tape_, DType::fp32, 1, "full");
    look_at_gradients();
  }
  for_the_kernel_[0] = number(tape_, DType::fp32, 0, "add");
  if (!unscaled_) for_the_kernel_[1] = number(tape_, DType::fp32, kScale, "mul");
}

void GradScaler::update() {
  for (Tensor& x : for_the_kernel_) x.reset();
  found_inf_.reset();
  unscaled_ = false;
}

}  // namespace vramplan
