// What a forward pass makes once before its layers: position ids, masks, rotary tables. Small, but alive for the whole
// pass, and with eager attention not small at all. After transformers/masking_utils.py and the rotary modules.
#pragma once
#include "model/forward.h"

namespace vramplan {

struct Masks {
  Tensor full, sliding;  ///< null where the attention kernel does causal masking itself
};

/// int64 [1, s], behind `before` keys that a cache has already.
Tensor position_ids(Tape& t, std::int64_t s, std::int64_t before);
/// With eager attention an additive mask [b, 1, s, before + s] in `dtype`; with SDPA nothing for full attention and a
/// bool mask [1, 1, s, before + s] (seen as [b, ...]) when a window of at most s limits it or keys come before. Without
/// those it also makes the temporaries of the test for packed sequences, one for each kind of mask asked for.
Masks make_masks(Tape& t, const ModelConfig& c, std::int64_t b, std::int64_t s, std::int64_t before, DType dtype,
                 const AttentionChoice& choice);

/// The same of a decoder that is given a mask of ones over b sequences of s tokens (BART's makes it itself): whether
/// it hides anything is looked up, and with eager attention it becomes part of the additive mask.
Tensor mask_of_ones(Tape& t, std::int64_t b, std::int64_t s, DType dtype, bool eager);

struct Rotary {
  Tensor cos, sin;  ///< [1, s, d]
};
/// OLMo 2's angles stay in fp32; what is turned by them is cast back.
inline bool wide_angles(const ModelConfig& c) { return c.architecture == Architecture::olmo2; }
Rotary rotary_tables(Tape& t, const RotaryBuffers& w, const Tensor& positions, DType dtype);
/// q * cos + rotate_half(q) * sin, and the same for k. Keeps cos and sin only.
Tensor rotate(Tape& t, const Tensor& x, const Tensor& cos, const Tensor& sin);

}  // namespace vramplan
