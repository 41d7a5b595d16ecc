#include "vramplan/base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::uint64_t k1000 = 1000;
constexpr std::array<Unit, 11> kByteUnits{{
    {"", 1},
    {"B", 1},
    {"KB", k1000},
    {"MB", k1000* k1000},
    {"GB", k1000* k1000* k1000},
    {"TB", k1000* k1000* k1000* k1000},
    {"KiB", kKiB},
    {"MiB", kMiB},
    {"GiB", kGiB},
    {"TiB", 1024 * kGiB},
    {"PiB", 1024 * 1024 * kGiB},
}};
constexpr std::array<Unit, 9> kCountUnits{{
    {"", 1},
    {"K", k1000},
    {"M", k1000* k1000},
    {"B", k1000* k1000* k1000},
    {"T", k1000* k1000* k1000* k1000},
    {"Ki", kKiB},
    {"Mi", kMiB},
    {"Gi", kGiB},
    {"Ti", 1024 * kGiB},
}};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

enum class Scaled { exactly, rounded_down, not_a_number };

/// Whether `digits` with one point at most are digits, cut in two at the point; zeros that end a fraction say nothing.
bool cut_at_point(std::string_view digits, std::string_view& whole, std::string_view& fraction) {
  const std::size_t point = digits.find('.');
  whole = digits.substr(0, point);
  fraction = point == std::string_view::npos ? std::string_view() : digits.substr(point + 1);
  const bool any = !whole.empty() || !fraction.empty();
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  return any && (whole.find_first_not_of("0123456789") == std::string_view::npos) &&
         (fraction.find_first_not_of("0123456789") == std::string_view::npos);
}

/// Digits with a point, scaled without a double: "1.5" with factor 1024 is 1536 exactly, "1.0001" is 1024 rounded down.
Scaled scale_decimal(std::string_view digits, std::uint64_t factor, std::uint64_t& out) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::size_t kMostDigits = 18;  // of a fraction: what is further down moves nothing but exactness
  std::string_view whole_part, fraction_part;
  if (!cut_at_point(digits, whole_part, fraction_part)) return Scaled::not_a_number;
  std::uint64_t whole = 0, part = 0, scale = 1;
  for (const char c : whole_part)
    if (__builtin_mul_overflow(whole, 10u, &whole) ||
        __builtin_add_overflow(whole, static_cast<std::uint64_t>(c - '0'), &whole))
      return Scaled::not_a_number;
  for (const char c : fraction_part.substr(0, kMostDigits))
    part = part * 10 + static_cast<std::uint64_t>(c - '0'), scale *= 10;
  const Wide scaled = static_cast<Wide>(part) * factor;
  if (__builtin_mul_overflow(whole, factor, &out) ||
      __builtin_add_overflow(out, static_cast<std::uint64_t>(scaled / scale), &out))
    return Scaled::not_a_number;
  return scaled % scale == 0 && fraction_part.size() <= kMostDigits ? Scaled::exactly : Scaled::rounded_down;
}

template <std::size_t N>
Scaled parse_with_unit(std::string_view text, const std::array<Unit, N>& units, std::uint64_t& out) {
  text = trimmed(text);
  std::size_t split = 0;
  while (split < text.size() && (std::isdigit(static_cast<unsigned char>(text[split])) || text[split] == '.')) ++split;
  const std::string_view unit = trimmed(text.substr(split));
  for (const Unit& u : units)
    if (u.name == unit || (!u.name.empty() && u.name.size() > 1 && equal_ignoring_case(u.name, unit)))
      return scale_decimal(trimmed(text.substr(0, split)), u.factor, out);
  return Scaled::not_a_number;
}

}  // namespace

void Bytes::overflow(const char* doing) {
  throw Overflow(std::string("the number of bytes leaves 64 bits while ") + doing);
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw Overflow("a count of elements leaves 64 bits while adding");
  return out;
}
std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw Overflow("a count of elements leaves 64 bits while multiplying");
  return out;
}

Bytes parse_bytes(std::string_view text) {
  std::uint64_t n = 0;
  const Scaled scaled = parse_with_unit(text, kByteUnits, n);
  const bool in_bytes = text.find_first_of("KMGTPkmgtp") == std::string_view::npos;  // of which there are no parts
  if (scaled == Scaled::exactly || (scaled == Scaled::rounded_down && !in_bytes)) return Bytes(n);
  throw UserError(fmt::format("'{}' is not a size in bytes", text), {},
                  "write a number and a unit: 24GiB (2^30) or 24GB (10^9)", Exit::usage);
}

std::string format_bytes(Bytes b) {
  static constexpr std::array<std::string_view, 6> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t i = 0;
  double v = static_cast<double>(b.count());
  // 1023.995 and up would print as 1024.00: step to the next unit before that.
  while (i + 1 < names.size() && v >= (i == 0 ? 1024.0 : 1023.995)) v /= 1024, ++i;
  return i == 0 ? fmt::format("{} B", b.count()) : fmt::format("{:.2f} {}", v, names[i]);
}
std::string format_bytes(Bytes b, ByteUnit unit) {
  const auto v = static_cast<double>(b.count());
  switch (unit) {
    case ByteUnit::mib: return fmt::format("{:.2f} MiB", v / (1 << 20));
    case ByteUnit::gib: return format_gib(b);
    case ByteUnit::gb: return fmt::format("{:.2f} GB", v / 1e9);
    case ByteUnit::automatic: break;
  }
  return format_bytes(b);
}
std::string format_gib(Bytes b) {
  return fmt::format("{:.2f} GiB", static_cast<double>(b.count()) / static_cast<double>(kGiB));
}

std::int64_t parse_count(std::string_view text, std::string_view what) {
  const std::string_view t = trimmed(text);
  if (t.size() > 1 && t.back() == 'k') {
    const std::string digits(t.substr(0, t.size() - 1));
    std::uint64_t thousand = 0, binary = 0;
    if (scale_decimal(digits, 1000, thousand) != Scaled::not_a_number &&
        scale_decimal(digits, 1024, binary) != Scaled::not_a_number)
      throw UserError(fmt::format("{} '{}' could mean {} or {}", what, t, thousand, binary), {},
                      fmt::format("write {}K for {} or {}Ki for {}", digits, thousand, digits, binary), Exit::usage);
  }
  std::uint64_t n = 0;
  const Scaled scaled = parse_with_unit(t, kCountUnits, n);
  if (scaled == Scaled::rounded_down)
    throw UserError(fmt::format("{} '{}' is not whole", what, t), {},
                    "write a whole number: 1024 has no point in it, 1.5Ki is 1536", Exit::usage);
  if (scaled == Scaled::exactly && n <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(n);
  throw UserError(fmt::format("{} '{}' is not a count", what, t), {},
                  "write a whole number, or one with K, M, B, Ki, Mi: 4096, 8Ki, 124M, 7B", Exit::usage);
}

std::string format_count(std::int64_t n) {
  std::string digits = std::to_string(n < 0 ? -n : n);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return n < 0 ? "-" + digits : digits;
}

}  // namespace vramplan
