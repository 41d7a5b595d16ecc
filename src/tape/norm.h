// Normalisation.
#pragma once
#include "tape/tape.h"

namespace vramplan {

/// torch.nn.functional.layer_norm over the last dimension. Keeps x, mean and rstd (fp32, 8 bytes a row on CUDA) and the
/// weights. Autocast runs it in fp32.
Tensor layer_norm(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

/// The RMSNorm that transformers writes in Python (LlamaRMSNorm): keeps x in fp32 (x itself when it already is), the
/// normalised x in the input's type and one fp32 number a row. `variance` lives until the function returns.
Tensor rms_norm_python(Tape& t, const Tensor& x, const Tensor& weight, double eps);

/// GemmaRMSNorm: fp32 throughout. Keeps x in fp32, one number a row, the normalised x in fp32 and 1 + weight.
Tensor rms_norm_gemma(Tape& t, const Tensor& x, const Tensor& weight, double eps);

/// Olmo2RMSNorm: as rms_norm_python, but multiplied by the weight in fp32 and cast then.
Tensor rms_norm_olmo(Tape& t, const Tensor& x, const Tensor& weight, double eps);

/// torch.nn.functional.rms_norm, fused (_fused_rms_norm): keeps x, rstd (fp32, 4 bytes a row) and the weight.
Tensor rms_norm_fused(Tape& t, const Tensor& x, const Tensor& weight, double eps);

}  // namespace vramplan
