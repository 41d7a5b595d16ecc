// How the last hidden state becomes a loss: the part of a step where the logits are.
#pragma once
#include <cstdint>

namespace vramplan {

///   causal        transformers' ForCausalLMLoss: logits in fp32, labels shifted
///   shifted       transformers before 4.46: logits in fp32, then a copy of all but each sequence's last
///   plain         cross_entropy of the logits as they are (nanoGPT, LitGPT without chunks)
///   smoothed      Hugging Face Trainer's LabelSmoother
///   chunked       head and loss in `chunks` parts of the sequence, each in fp32 (torchtune)
///   fused_linear  Liger-Kernel: logits of some tokens at a time, gradients made in forward
///   classification  transformers' ForSequenceClassification, single label: a head of its own, [labels, h], for all
///                   tokens, of whose logits each sequence's last are picked; an encoder's is for its first token
///   multi_label     the same head, and for each label whether it is there (binary cross-entropy)
///   regression      the same head, and a number for each label (mean squared error)
///   masked        an encoder's ForMaskedLM: a dense layer and a norm before the logits, which are not cast
///   sequence_to_sequence  ForConditionalGeneration: the target's logits and a constant bias, which are not cast
enum class LossForm {
  causal,
  shifted,
  plain,
  smoothed,
  chunked,
  fused_linear,
  classification,
  multi_label,
  regression,
  masked,
  sequence_to_sequence
};

struct LossChoice {
  LossForm form = LossForm::causal;
  std::int64_t chunks = 8;  ///< of chunked
  bool upcast = true;       ///< of chunked: each part's logits in fp32
  bool operator==(const LossChoice&) const = default;
};

/// Whether the model is a classifier's, with ModelConfig::labels.
constexpr bool classifies(LossForm f) {
  return f == LossForm::classification || f == LossForm::multi_label || f == LossForm::regression;
}

struct ModelConfig;
/// The loss that goes with the head its class has.
LossForm own_loss(const ModelConfig& c);

}  // namespace vramplan
