// Softmax and the language-modelling loss.
#pragma once
#include "tape/tape.h"

namespace vramplan {

/// torch.softmax over the last dimension, computed and returned in `dtype`. Keeps the result. fp16 to fp32 is one
/// fused kernel; bf16 to fp32 makes an fp32 copy of x first. Backward on CUDA makes gradient * result before its
/// kernel: one more tensor of that size (native/cuda/SoftMax.cu).
Tensor softmax(Tape& t, const Tensor& x, DType dtype);
/// torch.softmax without a dtype: in the input's type, or fp32 under autocast.
Tensor softmax(Tape& t, const Tensor& x);

/// torch.nn.functional.log_softmax over the last dimension, in the input's type. Keeps the result.
Tensor log_softmax(Tape& t, const Tensor& x);

/// torch.nn.functional.cross_entropy, mean: logits [n, v], target [n] (negative: ignored). Keeps the log-probabilities
/// in the logits' type, the target, and one number.
Tensor cross_entropy(Tape& t, const Tensor& logits, const Tensor& target);

/// What transformers' GenericForSequenceClassification.forward has at hand once it has picked the logits.
struct LastTokens {
  Tensor logits;           ///< [b, l]
  Tensor mask, positions;  ///< its locals: [b, s], [s]
};
/// Of logits [b, s, l] each sequence's last token that is not padding (none is). Keeps the two indices. Backward makes
/// zeros like the logits and puts the gradient into them.
LastTokens last_of_each(Tape& t, const Tensor& logits);

/// labels [b, s] padded by one, and what is left of them after the first: a copy [b, s].
Tensor shifted_labels(Tape& t, const Tensor& labels);

/// LabelSmoother of transformers/trainer_pt_utils.py, with shifted labels: the mean over tokens of both the negative
/// log-probability of the label and that of all words.
Tensor smoothed_loss(Tape& t, const Tensor& logits, const Tensor& labels);

/// LigerFusedLinearCrossEntropyFunction of Liger-Kernel 0.8: x [n, h], weight [v, h], target [n]. The gradients of x
/// and weight are made in forward, from logits of as many tokens at a time as need n x h numbers; both are kept.
Tensor fused_linear_cross_entropy(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& target);

/// transformers' ForCausalLMLoss: logits [b, s, v] to fp32, labels [b, s] padded and shifted by one (a copy).
/// Forward 10, held 4, backward 12 bytes a logit for 16-bit logits.
Tensor causal_lm_loss(Tape& t, const Tensor& logits, const Tensor& labels);

}  // namespace vramplan
