// Losses of a classifier whose labels are numbers. Targets have the logits' shape and the parameters' type; under
// autocast both losses are fp32, as autocast_mode.cpp lists them.
#pragma once
#include "tape/tape.h"

namespace vramplan {

/// torch.nn.functional.mse_loss, mean. Keeps both operands.
Tensor mse_loss(Tape& t, const Tensor& x, const Tensor& target);
/// torch.nn.functional.binary_cross_entropy_with_logits, mean, without weights. Keeps both operands.
Tensor binary_cross_entropy_with_logits(Tape& t, const Tensor& x, const Tensor& target);

}  // namespace vramplan
