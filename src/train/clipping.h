// Clipping of gradients.
#pragma once
#include <vector>

#include "model/weights.h"

namespace vramplan {

/// torch.nn.utils.clip_grad_norm_: one number a gradient, their stack, its norm; gradients are scaled in place.
/// `one_by_one`: foreach=False.
void clip_gradients(Tape& t, const std::vector<Parameter>& parameters, double largest, bool one_by_one);

}  // namespace vramplan
