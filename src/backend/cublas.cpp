#include "backend/cublas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "vramplan/base/error.h"

namespace vramplan {
namespace {

// Numbers of library_types.h and cublas_api.h.
constexpr int kReal32 = 0, kReal16 = 2, kBfloat16 = 14;
constexpr int kAsItLies = 0, kTransposed = 1;
constexpr int kCompute32 = 68, kCompute32Pedantic = 69, kDefaultAlgorithm = -1;

using Multiply = int(void*, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int,
                     int, long long, const void*, void*, int, int, long long, int, int, int);

std::optional<int> type_of(int type) {
  switch (type) {
    case kernels::kFp32: return kReal32;
    case kernels::kFp16: return kReal16;
    case kernels::kBf16: return kBfloat16;
    default: return std::nullopt;
  }
}

/// A matrix of [lines, width] numbers, as the library sees one that lies by columns: as its transposed, or as it is.
struct Side {
  int operation, leading;
};
std::optional<Side> side_of(const kernels::Matrix& m, long long lines, long long width) {
  constexpr long long kMost = std::numeric_limits<int>::max();
  if (m.column == 1 && (m.row >= width || lines == 1) && m.row <= kMost)
    return Side{kAsItLies, static_cast<int>(std::max(m.row, width))};
  if (m.row == 1 && (m.column >= lines || width == 1) && m.column <= kMost)
    return Side{kTransposed, static_cast<int>(std::max(m.column, lines))};
  return std::nullopt;
}

void check_cublas(int status, const char* call) {
  if (status != 0)
    throw UserError(fmt::format("cuBLAS fails with status {}", status), call, "probe without --gemm cublas");
}

}  // namespace

std::vector<std::string> neutralise_fp32_overrides() {
  std::vector<std::string> found;
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATION_STRATEGY"})
    if (const char* value = std::getenv(name)) {
      found.push_back(fmt::format("{}={}", name, value));
      unsetenv(name);
    }
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  return found;
}

Cublas::Cublas() : library_({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}, "PROBE_STAND_IN_CUBLAS") {
  auto* create = library_.find<int(void**)>({"cublasCreate_v2"});
  if (!create)
    throw UserError(fmt::format("cuBLAS is not here: {}", library_.why_not()), "--gemm",
                    "install the CUDA toolkit's, or leave --gemm out: our own kernels need no library");
  check_cublas(create(&handle_), "cublasCreate");
}

Cublas::~Cublas() {
  if (auto* destroy = library_.find<int(void*)>({"cublasDestroy_v2"}); destroy && handle_) destroy(handle_);
}

bool Cublas::multiply(const kernels::Product& p, std::byte* workspace, std::size_t bytes) const {
  auto* run = library_.find<Multiply>({"cublasGemmStridedBatchedEx"});
  auto* set_workspace = library_.find<int(void*, void*, std::size_t)>({"cublasSetWorkspace_v2"});
  const auto in = type_of(p.a.type), out = type_of(p.y.type);
  // It lies by columns: y transposed = b transposed @ a transposed, which needs nothing to be moved.
  const auto left = side_of(p.b, p.depth, p.columns), right = side_of(p.a, p.rows, p.depth);
  constexpr long long kMost = std::numeric_limits<int>::max();
  if (!run || !set_workspace || !in || !out || p.a.type != p.b.type || (out != in && out != kReal32) || !left ||
      !right || p.y.column != 1 || std::max({p.rows, p.columns, p.depth, p.batch, p.y.row}) > kMost)
    return false;
  check_cublas(set_workspace(handle_, workspace, bytes), "cublasSetWorkspace");
  check_cublas(
      run(handle_, left->operation, right->operation, static_cast<int>(p.columns), static_cast<int>(p.rows),
          static_cast<int>(p.depth), &p.alpha, p.b.data, *in, left->leading, p.b.batch, p.a.data, *in, right->leading,
          p.a.batch, &p.beta, p.y.data, *out, static_cast<int>(std::max(p.y.row, p.columns)), p.y.batch,
          static_cast<int>(p.batch), in == kReal32 ? kCompute32Pedantic : kCompute32, kDefaultAlgorithm),
      "cublasGemmStridedBatchedEx");
  return true;
}

}  // namespace vramplan
