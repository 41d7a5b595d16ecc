#include "estimate/overhead.h"

namespace vramplan {

Bytes workspace_bytes(int compute_capability) {
  constexpr std::uint64_t kOlder = 2 * 4096 * kKiB + 8 * 16 * kKiB;
  return Bytes(compute_capability >= 90 ? 32 * kMiB : kOlder);
}

Overhead overhead_of(const Job& job) {
  return {job.calibration.context.value_or(Bytes(kGiB * 6 / 10)), workspace_bytes(job.run.device.compute_capability)};
}

namespace {

/// CUDA loads kernels when they are first used since 12.2: the context grows with what a run uses.
struct Seen {
  int compute_capability;
  std::string_view what;
};
constexpr Seen kSeen[]{
    {80, "0.47 GiB seen on an A100 (PyTorch 2.1; stas00/ml-engineering)"},
    {86, "0.25 GiB seen on an RTX 3090 (PyTorch 2.7; invoke-ai/InvokeAI#9413)"},
    {89, "0.42 GiB seen on an RTX 6000 Ada (PyTorch 2.10; unslothai/unsloth-zoo PR 1053)"},
    {90, "0.55 GiB seen on an H100 (stas00/ml-engineering)"},
    {120, "0.54 GiB seen on an RTX PRO 6000, before any kernel (ggml-org/llama.cpp PR 23604)"},
};

}  // namespace

std::string context_seen(int compute_capability) {
  std::string out = "0.25 to 0.9 GiB seen on other cards";
  for (const Seen& s : kSeen)
    if (s.compute_capability == compute_capability) out = std::string(s.what) + ", up to 0.9 GiB on others";
  return out + "; 0.9 to 1.8 GiB before CUDA 12.2 or with CUDA_MODULE_LOADING=EAGER";
}

std::vector<UncertaintyPart> uncertainty_parts(const Job& job) {
  if (job.calibration.context) return {};
  return {{"context: up to 0.9 GiB seen", Bytes(kGiB * 3 / 10)}};
}

}  // namespace vramplan
