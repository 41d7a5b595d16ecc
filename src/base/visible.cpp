#include "base/visible.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramplan {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The character at the beginning of `text`, by the table of well-formed sequences (Unicode 15, table 3-7).
Character first_of(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : (lead & 0xF0) == 0xE0        ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t code = lead & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length, true};
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode annex 9).
bool sets_direction(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool controls(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || sets_direction(c); }

std::string shown(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    if (!c.valid)
      out += "\xEF\xBF\xBD";
    else if (controls(c.code) && (c.code > 0x7F || kept.find(static_cast<char>(c.code)) == std::string_view::npos))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
    else
      out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text) { return shown(text, "\t\n"); }
std::string visible_word(std::string_view text) { return shown(text, ""); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_of(text);
    if (!c.valid) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

}  // namespace vramplan
