#include "tape/sdpa_choice.h"

#include <fmt/format.h>

#include <cmath>

#include "vramplan/base/error.h"

namespace vramplan {
namespace {

bool half(DType t) { return t == DType::fp16 || t == DType::bf16; }

/// As many key heads as query heads; or fewer, which divide them, where that is asked for or there is just one.
bool heads_fit(const SdpaCall& c) {
  const std::int64_t a = c.q.size(1), k = c.k.size(1);
  if (k != c.v.size(1)) return false;
  return a == k || (a % k == 0 && (c.args.grouped || k == 1));
}

bool one_type(const SdpaCall& c) {
  return c.q.dtype() == c.k.dtype() && c.q.dtype() == c.v.dtype() && c.q.size(3) == c.k.size(3);
}

/// check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_sm120: their backward has not the shared memory.
bool too_wide_for_backward(const SdpaCall& c, const Device& d) {
  const int sm = d.compute_capability;
  if (!c.wants_grad || !((sm >= 86 && sm <= 89) || sm == 120 || sm == 121)) return false;
  const std::int64_t size = c.q.size(3);
  return (size > 192 && size <= 224) || (size > 224 && c.args.dropout > 0);
}

/// Each returns what speaks against its kernel; nothing when it can run.
std::string against_flash(const SdpaCall& c, const Device& d) {
  if (!half(c.q.dtype())) return fmt::format("{} is not a 16-bit type", name_of(c.q.dtype()));
  if (d.compute_capability < 80) return fmt::format("it needs sm_80, and the card is sm_{}", d.compute_capability);
  if (c.mask) return "it takes no mask";
  if (!one_type(c) || c.q.size(3) != c.v.size(3)) return "types or head sizes differ";
  if (!heads_fit(c)) return "the key heads do not divide the query heads";
  if (c.q.size(3) > 256) return fmt::format("a head size of {} is above 256", c.q.size(3));
  if (too_wide_for_backward(c, d))
    return fmt::format("no backward of head size {}{} on sm_{}", c.q.size(3), c.args.dropout > 0 ? " with dropout" : "",
                       d.compute_capability);
  return {};
}

/// minimum_gemm_alignment: of tensor cores, where the card has them for the type.
std::int64_t alignment(const SdpaCall& c, const Device& d) {
  if (half(c.q.dtype())) return d.compute_capability >= 70 ? 8 : 1;
  return d.compute_capability >= 80 ? 4 : 1;
}

std::string against_efficient(const SdpaCall& c, const Device& d) {
  const DType t = c.q.dtype();
  if (!half(t) && t != DType::fp32) return fmt::format("{} is no type it takes", name_of(t));
  if (t == DType::bf16 && d.compute_capability < 80)
    return fmt::format("bf16 needs sm_80, and the card is sm_{}", d.compute_capability);
  if (!one_type(c)) return "types or head sizes differ";
  if (!heads_fit(c)) return "the key heads do not divide the query heads";
  const std::int64_t n = alignment(c, d);
  if (c.q.size(3) % n != 0 || c.v.size(3) % n != 0)
    return fmt::format("a head size of {} is no multiple of {}", c.q.size(3) % n != 0 ? c.q.size(3) : c.v.size(3), n);
  for (const Tensor* x : {&c.q, &c.k, &c.v})
    if (x->strides().at(-1) != 1) return "the last dimension is not contiguous";
  return {};
}

/// check_cudnn_tensor_shapes and check_prefer_cudnn_attention: Hopper's and Blackwell's data centre cards come to cuDNN
/// first; backward knows fewer head sizes.
bool takes_cudnn(const SdpaCall& c, const Device& d) {
  const int major = d.compute_capability / 10;
  const std::int64_t size = c.q.size(3);
  const bool sized = size % 8 == 0 && (size == 256 || size <= (c.wants_grad ? 128 : 256));
  const bool drops = c.args.dropout * 16 == std::floor(c.args.dropout * 16);
  return (major == 9 || major == 10) && half(c.q.dtype()) && one_type(c) && heads_fit(c) && sized && drops;
}

SdpaChoice only(SdpaKernel kernel, const std::string& against) {
  if (against.empty()) return {kernel, {}};
  throw UserError(fmt::format("no available kernel: {}", against), fmt::format("--attention {}", name_of(kernel)),
                  "leave it out: PyTorch takes the fastest kernel that can run", Exit::usage);
}

}  // namespace

const char* name_of(SdpaKernel kernel) {
  switch (kernel) {
    case SdpaKernel::automatic: return "automatic";
    case SdpaKernel::flash: return "flash";
    case SdpaKernel::cudnn: return "cuDNN";
    case SdpaKernel::efficient: return "efficient";
    case SdpaKernel::math: return "math";
  }
  return "";
}

SdpaChoice choose_sdpa(const Device& device, const SdpaCall& call) {
  const SdpaKernel asked = call.args.kernel;
  if (asked == SdpaKernel::math) return {SdpaKernel::math, {}};
  if (asked == SdpaKernel::flash) return only(asked, against_flash(call, device));
  if (asked == SdpaKernel::efficient) return only(asked, against_efficient(call, device));
  if (takes_cudnn(call, device)) return {SdpaKernel::cudnn, {}};
  const std::string flash = against_flash(call, device);
  if (flash.empty()) return {SdpaKernel::flash, {}};
  const std::string efficient = against_efficient(call, device);
  if (efficient.empty()) return {SdpaKernel::efficient, "flash: " + flash};
  return {SdpaKernel::math, fmt::format("flash: {}; efficient: {}", flash, efficient)};
}

}  // namespace vramplan
