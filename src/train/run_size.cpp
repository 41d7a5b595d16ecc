#include "train/run_size.h"

#include <fmt/format.h>

#include "vramplan/base/error.h"

namespace vramplan {

void check_run_size(const ModelConfig& c, const TrainOptions& options) {
  const std::int64_t layers = c.layers + (c.two_stacks() ? c.source.layers : 0);
  if (layers > kMostLayers)
    throw UserError(fmt::format("{} layers are more than the {} that one exact run takes", layers, kMostLayers),
                    "layers", "check the number of layers; what a layer adds is seen with fewer");
  const LossChoice& loss = options.loss;
  const std::int64_t parts = loss.form == LossForm::chunked        ? loss.chunks
                             : loss.form == LossForm::fused_linear ? (c.vocab - 1) / c.hidden + 1
                                                                   : 1;
  if (parts > kMostLossParts)
    throw UserError(
        fmt::format("{} parts of the loss are more than the {} that one exact run takes", parts, kMostLossParts),
        "--loss", "take fewer parts: --loss chunked:8", Exit::usage);
}

}  // namespace vramplan
