// Numbers of 16 bits, in software.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vramplan::host {

/// Round to nearest, ties to even.
inline std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float from_bf16(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }

/// IEEE 754 binary16; round to nearest even.
inline std::uint16_t to_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const double m = std::abs(static_cast<double>(x));
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (m >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int e = m < 0x1p-14 ? -14 : std::ilogb(m);
  const double steps = std::nearbyint(std::ldexp(m, 10 - e));  // 1024 .. 2048 when normal
  const auto n = static_cast<std::uint32_t>(steps);
  return static_cast<std::uint16_t>(sign | (m < 0x1p-14 ? n : static_cast<std::uint32_t>((e + 14) << 10) + n));
}

inline float from_fp16(std::uint16_t h) {
  const int e = (h >> 10) & 0x1f, m = h & 0x3ff;
  const float sign = h & 0x8000 ? -1.0F : 1.0F;
  if (e == 31) return m ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  return sign * (e == 0 ? std::ldexp(static_cast<float>(m), -24) : std::ldexp(static_cast<float>(m + 1024), e - 25));
}

}  // namespace vramplan::host
