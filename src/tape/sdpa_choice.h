// Which kernel torch.nn.functional.scaled_dot_product_attention takes, and what spoke against the faster ones. Follows
// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp of PyTorch 2.15, and what that answered on cards of every
// compute capability (tests/data/sdpa_choice.json).
#pragma once
#include <string>

#include "tensor/tensor.h"
#include "vramplan/tensor/device.h"

namespace vramplan {

enum class SdpaKernel { automatic, flash, cudnn, efficient, math };

struct SdpaArgs {
  double scale = 1;
  double dropout = 0;
  bool causal = false;
  bool grouped = false;  ///< enable_gqa
  SdpaKernel kernel = SdpaKernel::automatic;
};

/// What a call to the kernels is: q [b, a, s, d], k and v [b, k, s, d]; the mask may be null.
struct SdpaCall {
  const Tensor &q, &k, &v, &mask;
  const SdpaArgs& args;
  bool wants_grad = true;  ///< a gradient is recorded for one of q, k and v
};

struct SdpaChoice {
  SdpaKernel kernel = SdpaKernel::math;  ///< never `automatic`
  /// Why a faster kernel was passed over: "flash: it takes no mask; efficient: bf16 needs sm_80, and the card is
  /// sm_75". Empty where none was.
  std::string passed_over;
  bool operator==(const SdpaChoice&) const = default;
};

/// "flash", "cuDNN", "efficient", "math"
const char* name_of(SdpaKernel kernel);

/// The kernel PyTorch takes. Where one kernel alone is allowed (torch.nn.attention.sdpa_kernel) and cannot run, throws
/// UserError with the reason, as PyTorch ends with "No available kernel".
SdpaChoice choose_sdpa(const Device& device, const SdpaCall& call);

}  // namespace vramplan
