// Prompt learning of peft 0.21 on a frozen model (peft/peft_model.py, PeftModelForCausalLM.forward and get_prompt).
#pragma once
#include "model/forward.h"

namespace vramplan {

/// What the model is given in place of the batch: locals of PeftModelForCausalLM.forward, alive until it returns.
/// Without a prompt, the embeddings are the model's own to make.
struct Given {
  Tensor embeddings, labels;
  Tensor prompt, prompt_labels;
};

/// The trained embeddings before those of the tokens, which it is given; labels of -100 before the batch's.
Given behind_prompt(Tape& t, const PromptWeights& w, const Tensor& tokens, const Tensor& labels);
/// Trained keys and values [b, k, v, d] of every layer, by turns, as a new DynamicCache copies them. `dtype` is the
/// model's.
std::vector<Tensor> prefix_of(Tape& t, const ModelConfig& c, const PromptWeights& w, std::int64_t b, DType dtype);

}  // namespace vramplan
