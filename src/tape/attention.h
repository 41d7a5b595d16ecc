// Attention over q [b, a, s, d], k and v [b, k, s, d], k <= a key/value heads.
//
// What each way keeps for backward (bytes per S^2 element are per query head):
//   eager, Llama form   fp32 probabilities (4), their cast to the working type (2, when not fp32), the dropout mask (1)
//                       and dropped probabilities (2 or 4) when p > 0, operand copies; after repeat_kv
//   eager, GPT-2 form   probabilities in the working type (fp32 under autocast, plus their cast), mask, dropped ones
//   flash, cuDNN        q, k, v, out, log-sum-exp (fp32, 4as), two random-state scalars; k and v at kv heads
//   efficient           as flash; a bool mask is turned into a float one in every call, and each is kept
//   math                q, k, v in fp32 at all heads, fp32 probabilities once
// Sources: transformers models/llama and models/gpt2 eager_attention_forward; aten/src/ATen/native/transformers
// attention.cpp of PyTorch 2.15; sdpa_choice.h tells which kernel is taken.
#pragma once
#include "tape/sdpa_choice.h"
#include "tape/tape.h"

namespace vramplan {

/// k and v repeated to all query heads: a copy, or the input itself when there is nothing to repeat.
Tensor repeat_kv(Tape& t, const Tensor& x, std::int64_t times);

/// torch.nn.functional.scaled_dot_product_attention; mask null, bool (true: attend) or additive.
/// Notes on the tape which kernel was taken.
Tensor sdpa(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const SdpaArgs& args);

/// The output and the probabilities: callers keep both until their layer returns.
struct EagerAttention {
  Tensor out;  ///< Llama form: [b, s, a, d], contiguous; GPT-2 form: the same seen through a transpose
  Tensor probabilities;
};
struct EagerArgs {
  double scale = 1;
  double dropout = 0;
  DType mask = DType::boolean;  ///< of the dropout mask
  std::int64_t extra_copies =
      0;  ///< of the probabilities, kept for backward besides those the operations need (at most 8)
};
EagerAttention eager_attention_llama(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                     const EagerArgs& args);
EagerAttention eager_attention_gpt2(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    const EagerArgs& args);
/// BERT's and BART's: the product casts the probabilities where it has to.
EagerAttention eager_attention_bert(Tape& t, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    const EagerArgs& args);
/// Dropout of attention probabilities and the copies that `args` asks to keep.
Tensor drop_probabilities(Tape& t, const Tensor& probabilities, const EagerArgs& args);

}  // namespace vramplan
