#include "virtualgpu/reduction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace virtualgpu {
namespace {

enum Operation { sum, product, largest, smallest, mean };

template <class T>
T combine(T a, T b, int op) {
  switch (op) {
    case product: return static_cast<T>(a * b);
    case largest: return std::max(a, b);
    case smallest: return std::min(a, b);
    default: return static_cast<T>(a + b);
  }
}

template <class T>
Bytes reduce(const std::vector<Bytes>& all, size_t n, int op) {
  std::vector<T> out(n / sizeof(T)), other(out.size());
  std::memcpy(out.data(), all[0].data(), out.size() * sizeof(T));
  for (size_t r = 1; r < all.size(); ++r) {
    std::memcpy(other.data(), all[r].data(), other.size() * sizeof(T));
    for (size_t i = 0; i < out.size(); ++i) out[i] = combine(out[i], other[i], op);
  }
  if (op == mean)
    for (T& x : out) x = static_cast<T>(x / static_cast<T>(all.size()));
  Bytes bytes(n);
  std::memcpy(bytes.data(), out.data(), out.size() * sizeof(T));
  return bytes;
}

}  // namespace

Bytes reduced(const std::vector<Bytes>& all, size_t n, int type, int op) {
  const bool known = std::all_of(all.begin(), all.end(), [n](const Bytes& b) { return b.size() == n; });
  if (!known || n == 0 || op < sum || op > mean) return {};
  switch (type) {
    case 0: return reduce<int8_t>(all, n, op);
    case 1: return reduce<uint8_t>(all, n, op);
    case 2: return reduce<int32_t>(all, n, op);
    case 3: return reduce<uint32_t>(all, n, op);
    case 4: return reduce<int64_t>(all, n, op);
    case 5: return reduce<uint64_t>(all, n, op);
    case 7: return reduce<float>(all, n, op);
    case 8: return reduce<double>(all, n, op);
    default: return {};
  }
}

}  // namespace virtualgpu
