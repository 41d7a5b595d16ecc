// Encoders with a masked-language-model head: BERT, RoBERTa and DistilBERT as transformers 5.24 writes them
// (models/bert, models/roberta, models/distilbert). Norms stand behind each half of a layer; every token sees every
// other.
#pragma once
#include "model/forward.h"

namespace vramplan {

inline bool distilled(const ModelConfig& c) { return c.architecture == Architecture::distilbert; }

/// What BERT's and BART's attentions share: q [b, a, s, d], k and v [b, a, t, d] -> [b, s, a, d]. `causal` is the fused
/// kernels' own masking; eager attention takes a mask for it.
EagerAttention attend(Tape& t, const ModelConfig& c, const Tensor& q, const Tensor& k, const Tensor& v,
                      const Tensor& mask, bool causal, const AttentionChoice& choice);
/// Token ids [b, s] -> the last hidden state [b, s, h].
Tensor bert_body(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const AttentionChoice& choice,
                 const RunStack& run);
/// The head's dense layer, activation and norm; then logits of all tokens and the mean cross-entropy of `labels`
/// [b, s], in the logits' type.
ModelOutput masked_lm(Tape& t, const ModelConfig& c, const Weights& w, const Tensor& hidden, const Tensor& labels);

/// A classifier's dense layer on the first token's state; its logits [b, l] and the loss of `labels`.
ModelOutput pooled_classifier(Tape& t, const ModelConfig& c, const Weights& w, const Tensor& hidden,
                              const Tensor& labels, LossForm form);

}  // namespace vramplan
