// Virtual tokens: what is trained beside a frozen model in place of adapters.
#pragma once
#include <cstdint>

namespace vramplan {

/// Prompt learning of peft on a frozen model: trained embeddings stand before those of the tokens, or (a prefix)
/// trained keys and values before those of every layer.
struct PromptTuning {
  std::int64_t tokens = 0;  ///< num_virtual_tokens, beside those of TrainOptions::seq
  bool prefix = false;
  std::int64_t projection = 0;  ///< of a prefix: width of the two layers that make it (encoder_hidden_size); 0: none
  bool operator==(const PromptTuning&) const = default;
};

}  // namespace vramplan
