// Adapters of peft 0.21 on a frozen model: what get_peft_model makes, in its order.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "model/weights.h"
#include "vramplan/model/prompt.h"

namespace vramplan {

struct Adapters {
  std::optional<PromptTuning> prompt;  ///< in place of all that follows
  std::int64_t rank = 8;
  double dropout = 0, scale = 2;
  DType dtype = DType::fp32;
  bool saves_embedding = false, saves_head = false;      ///< trained whole: copies beside the frozen ones
  bool targets_embedding = false;                        ///< the tokens' has an adapter
  bool dora = false;                                     ///< a magnitude for each output beside A and B
  std::function<bool(const std::string& path)> targets;  ///< of a module: "self_attn.q_proj", "fc1" ...
};

/// Freezes everything that is there and adds the adapters.
void add_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, Weights& w);
/// Elements of the adapters. Throws UserError when no module is a target.
std::int64_t adapter_parameter_count(const ModelConfig& c, const Adapters& adapters);

}  // namespace vramplan
