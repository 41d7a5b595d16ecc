// Runs the layers of a model, recomputing those that the policy names.
#pragma once
#include <vector>

#include "model/forward.h"
#include "vramplan/train/options.h"

namespace vramplan {

struct LayerRun {
  std::int64_t first, count;
  bool checkpointed;
};

/// The runs a policy cuts `layers` layers into, in order. Throws UserError when it has no room for n segments.
std::vector<LayerRun> cut_layers(const Checkpointing& policy, std::int64_t layers);

/// How `forward` is to run the layers.
RunStack layer_runner(const Checkpointing& policy);

}  // namespace vramplan
