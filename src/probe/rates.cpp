#include "probe/rates.h"

#include <chrono>

#include "tensor/memory.h"

namespace vramplan {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds of one, of as many as take a hundredth of a second, after one to warm up.
template <class Work>
double seconds_of(const CudaBackend& backend, const Work& work) {
  constexpr double kLong = 0.01;
  work();
  backend.synchronise();
  for (int times = 1;; times *= 2) {
    const auto start = Clock::now();
    for (int i = 0; i < times; ++i) work();
    backend.synchronise();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds >= kLong) return seconds / times;
  }
}

constexpr double kLasting = 2e-3;  ///< seconds from which starting a kernel does not count

double product_rate(CudaBackend& backend, Memory& memory, DType type, std::uint64_t room) {
  constexpr std::int64_t kSmallest = 256, kLargest = 16384;
  for (std::int64_t n = kSmallest;; n *= 2) {
    const Tensor a = memory.empty({n, n}, type, "rate"), b = memory.empty({n, n}, type, "rate"),
                 y = memory.empty({n, n}, type, "rate");
    backend.fill(a, 0);
    backend.fill(b, 0);
    const double seconds = seconds_of(backend, [&] { backend.matmul(y, a, b, 1, 0); });
    const auto next = 4 * 3 * static_cast<std::uint64_t>(n * n * item_size(type));
    if (seconds >= kLasting || n >= kLargest || next > room) {
      const auto side = static_cast<double>(n);
      return 2 * side * side * side / seconds;
    }
  }
}

double copy_rate(CudaBackend& backend, Memory& memory, std::uint64_t room) {
  constexpr std::int64_t kSmallest = 1 << 20;
  for (std::int64_t n = kSmallest;; n *= 2) {
    const Tensor x = memory.empty({n}, DType::fp32, "rate"), y = memory.empty({n}, DType::fp32, "rate");
    backend.fill(x, 0);
    const double seconds = seconds_of(backend, [&] { backend.unary(Unary::copy, y, x, 0); });
    const double bytes = 2.0 * static_cast<double>(n) * static_cast<double>(sizeof(float));
    if (seconds >= kLasting || 2 * bytes > static_cast<double>(room)) return bytes / seconds;
  }
}

}  // namespace

CardRates measure_rates(CudaBackend& backend, DType type, Bytes free) {
  Ledger ledger;
  Memory memory(backend, ledger);
  const std::uint64_t room = free.count() / 4;
  return {type, product_rate(backend, memory, type, room), copy_rate(backend, memory, room)};
}

}  // namespace vramplan
