// Token and position embeddings.
#pragma once
#include "tape/tape.h"

namespace vramplan {

/// weight [v, h], ids [b, s] (int64) -> [b, s, h]. Keeps the ids; the gradient is dense, [v, h].
Tensor embedding(Tape& t, const Tensor& weight, const Tensor& ids);

}  // namespace vramplan
