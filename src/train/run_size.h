// How much one exact run may hold: every layer and every part of a loss is run tensor by tensor, so time and memory
// grow with them, and a number typed wrong is refused rather than run for an hour.
#pragma once
#include <cstdint>

#include "vramplan/model/config.h"
#include "vramplan/train/options.h"

namespace vramplan {

constexpr std::int64_t kMostLayers = 4096;  ///< of all stacks together
constexpr std::int64_t kMostLossParts =
    16384;  ///< of --loss chunked, or of the fused loss: vocabulary over hidden size

/// Throws UserError for a run beyond these.
void check_run_size(const ModelConfig& c, const TrainOptions& options);

}  // namespace vramplan
