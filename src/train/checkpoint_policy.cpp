#include "train/checkpoint_policy.h"

#include <fmt/format.h>

#include "tape/checkpoint.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// All that layer i takes beside the hidden state.
Arguments arguments_of(const LayerStack& stack, std::int64_t i) {
  Arguments all = stack.arguments(i);
  all.states = stack.states;
  return all;
}

Tensor run_layers(const LayerStack& stack, const LayerRun& run, Tensor x) {
  for (std::int64_t i = run.first; i < run.first + run.count; ++i) {
    const Arguments given = arguments_of(stack, i);
    x = stack.run(i, x, given);
  }
  return x;
}

/// Hugging Face checkpoints a layer's call, so what the layer takes as an argument is saved, not captured.
Segment one_layer(const LayerStack& stack, std::int64_t i) {
  return [run = stack.run, i](const Tensor& x, const Arguments& given) { return run(i, x, given); };
}
/// Captures the masks and angles of its own layers and no others; states are given.
Segment several_layers(const LayerStack& stack, const LayerRun& run) {
  std::vector<Arguments> own;
  for (std::int64_t i = run.first; i < run.first + run.count; ++i) own.push_back(stack.arguments(i));
  return [layer = stack.run, first = run.first, own](Tensor x, const Arguments& given) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      Arguments all = own[i];
      all.states = given.states;
      x = layer(first + static_cast<std::int64_t>(i), x, all);
    }
    return x;
  };
}

std::vector<LayerRun> given_runs(const std::vector<std::int64_t>& runs, std::int64_t layers) {
  std::vector<LayerRun> out;
  std::int64_t first = 0;
  for (const std::int64_t n : runs) {
    out.push_back({first, n < 0 ? -n : n, n > 0});
    first += out.back().count;
  }
  if (first != layers)
    throw UserError(fmt::format("the runs hold {} layers, the model has {}", first, layers), "--checkpoint cuts",
                    "for example cuts:8+8 for 16 layers", Exit::usage);
  return out;
}

}  // namespace

std::vector<LayerRun> cut_layers(const Checkpointing& policy, std::int64_t layers) {
  if (policy.kind == CheckpointKind::none || policy.kind == CheckpointKind::selective) return {{0, layers, false}};
  if (policy.kind == CheckpointKind::cuts) return given_runs(policy.runs, layers);
  const std::int64_t n = policy.kind == CheckpointKind::per_layer ? layers : policy.n;
  if (n < 1 || n > layers)
    throw UserError(fmt::format("{} segments over {} layers", n, layers), "segments",
                    fmt::format("ask for 1 to {}", layers), Exit::usage);
  std::vector<LayerRun> runs;
  std::int64_t first = 0;
  if (policy.kind == CheckpointKind::every || policy.kind == CheckpointKind::first) {
    for (; first < layers; ++first)
      runs.push_back({first, 1, policy.kind == CheckpointKind::every ? first % n == 0 : first < n});
    return runs;
  }
  if (policy.kind == CheckpointKind::sequential) {
    const std::int64_t size = layers / n;
    for (; first < size * (n - 1); first += size) runs.push_back({first, size, true});
    runs.push_back({first, layers - first, false});
    return runs;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t size = layers / n + (i < layers % n ? 1 : 0);
    runs.push_back({first, size, true});
    first += size;
  }
  return runs;
}

RunStack layer_runner(const Checkpointing& policy) {
  return [policy](Tape& t, const LayerStack& stack, Tensor x) {
    const Recompute variant = policy.on_host     ? Recompute::offloaded
                              : policy.reentrant ? Recompute::reentrant
                                                 : Recompute::non_reentrant;
    const bool alone = policy.kind == CheckpointKind::per_layer || policy.kind == CheckpointKind::every ||
                       policy.kind == CheckpointKind::first;
    const bool mask_as_argument = alone && stack.mask_is_argument;
    for (const LayerRun& run : cut_layers(policy, stack.count)) {
      if (!run.checkpointed)
        x = run_layers(stack, run, x);
      else if (mask_as_argument)
        x = checkpoint(t, variant, one_layer(stack, run.first), x, arguments_of(stack, run.first));
      else
        x = checkpoint(t, variant, several_layers(stack, run), x, {{}, stack.states, {}, {}});
    }
    return x;
  };
}

}  // namespace vramplan
