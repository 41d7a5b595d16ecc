// Products with weights that bitsandbytes 0.50 stores in few bits (bitsandbytes/autograd/_functions.py). They are
// autograd functions written in Python: what they keep is out of reach of checkpointing's hooks.
#pragma once
#include "tape/tape.h"

namespace vramplan {

struct QuantisedWeight {
  std::int64_t out = 0, in = 0;
  bool four_bits = true;
  DType dtype = DType::bf16;       ///< of the weight before it was quantised
  DType multiplied = DType::bf16;  ///< four bits: type of the product
  Tensor codes;                    ///< four bits: [out * in / 2, 1]; eight: [out, in]
  Tensor scales;                   ///< four bits: fp32 or 8-bit [out * in / 64]; eight: fp32 [out]
  Tensor second_scales, offset;    ///< of 8-bit scales: fp32 [scales / 256] and []
  Tensor map, second_map;          ///< code books: fp32 [16] and [256]
};

/// x [..., in] @ the weight's transpose + bias -> [..., out], in the type of x. Four bits: a copy of the weight in 16
/// bits lives during the product, in forward and in backward; nothing is kept. Eight bits: keeps x, which
/// non-reentrant checkpointing does not release; columns with outliers are taken as none.
Tensor quantised_linear(Tape& t, const Tensor& x, const QuantisedWeight& w, const Tensor& bias);

/// The weight [out, in] as it was before, in its own type; from eight bits in fp32 (bitsandbytes.functional
/// dequantize_4bit, int8_vectorwise_dequant). No gradient.
Tensor dequantised(Tape& t, const QuantisedWeight& w);

}  // namespace vramplan
