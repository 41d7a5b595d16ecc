// A number of bytes: 64-bit, unsigned, and checked. Adding, subtracting or multiplying past the range throws
// Overflow instead of wrapping, so no estimate can be silently wrong. Text is printed and parsed here and
// nowhere else: GiB is 2^30 and GB is 10^9, both accepted, never mixed, the unit always printed.
#pragma once
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace vramplan {

struct Overflow : std::overflow_error {
  using std::overflow_error::overflow_error;
};

/// a + b, a * b in 64 bits; throws Overflow. For element counts, which are signed.
std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_multiply(std::int64_t a, std::int64_t b);

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t n) : n_(n) {}

  constexpr std::uint64_t count() const { return n_; }
  constexpr auto operator<=>(const Bytes&) const = default;

  Bytes& operator+=(Bytes b) {
    if (__builtin_add_overflow(n_, b.n_, &n_)) overflow("adding");
    return *this;
  }
  Bytes& operator-=(Bytes b) {
    if (__builtin_sub_overflow(n_, b.n_, &n_)) overflow("subtracting");
    return *this;
  }
  Bytes& operator*=(std::uint64_t k) {
    if (__builtin_mul_overflow(n_, k, &n_)) overflow("multiplying");
    return *this;
  }
  friend Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend Bytes operator-(Bytes a, Bytes b) { return a -= b; }
  friend Bytes operator*(Bytes a, std::uint64_t k) { return a *= k; }

  /// The next multiple of `block`, which must not be 0.
  Bytes rounded_up(std::uint64_t block) const { return Bytes((n_ / block + (n_ % block != 0))) * block; }

 private:
  [[noreturn]] static void overflow(const char* doing);
  std::uint64_t n_ = 0;
};

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

/// "80GiB", "24 GB", "1.5TiB", "4096" (bytes). Binary and decimal prefixes are kept apart; a bare "G" is
/// refused because it could mean either. A part of a byte is let go of where a unit is given, an error where not.
/// Throws UserError.
Bytes parse_bytes(std::string_view text);

/// Binary prefixes with two decimals: "512 B", "1.50 KiB", "79.15 GiB". Reads back to within half a unit.
std::string format_bytes(Bytes b);
/// What a person wants to read; automatic: as above.
enum class ByteUnit { automatic, mib, gib, gb };
std::string format_bytes(Bytes b, ByteUnit unit);
/// GiB with two decimals, whatever the size.
std::string format_gib(Bytes b);

/// "7B", "124M", "8Ki", "1.5K", "4096". A bare lower-case "8k" could be 8000 or 8192 and is refused with both
/// spellings; so is what is not whole: "1.5Ki" is 1536, "1.024" is none. `what` names the value in the error. Throws
/// UserError.
std::int64_t parse_count(std::string_view text, std::string_view what);
/// 1234567 as "1,234,567".
std::string format_count(std::int64_t n);

}  // namespace vramplan
