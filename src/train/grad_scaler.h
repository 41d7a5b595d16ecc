// torch.amp.GradScaler of PyTorch 2.15 (torch/amp/grad_scaler.py): the loss is scaled up before backward, gradients
// down before the step. Its numbers are few, but each is a block of 512 bytes.
#pragma once
#include <array>
#include <vector>

#include "model/weights.h"

namespace vramplan {

class GradScaler {
 public:
  GradScaler(Tape& t, std::vector<Parameter> parameters, bool fused)
      : tape_(t), parameters_(std::move(parameters)), fused_(fused) {}

  /// loss * scale. The first call makes the scale and the tracker of its growth.
  Tensor scale(const Tensor& loss);
  /// Gradients as they are without the scale: what a caller that clips asks for.
  void unscale();
  /// Before the optimizer's step: unscales, unless that was done; a fused optimizer does it in its own kernel.
  void before_step();
  /// After it: what was found of this step goes.
  void update();

 private:
  void look_at_gradients();

  Tape& tape_;
  std::vector<Parameter> parameters_;
  bool fused_, unscaled_ = false;
  Tensor scale_, growth_tracker_, found_inf_;
  std::array<Tensor, 2> for_the_kernel_;  ///< of a fused optimizer: what was found, the scale
};

}  // namespace vramplan
