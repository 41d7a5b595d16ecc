#include "base/suggest.h"

#include <algorithm>
#include <cctype>

namespace vramplan {
namespace {

/// Lower case without what separates: "GPT-2_Medium" and "gpt2-medium" are one word.
std::string folded(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Digits in order, so that llama-3 is never taken for llama-2: another number is another thing, and no slip.
std::string digits_in_order(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (std::isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

/// How many slips of the hand a word of this length may have: in short words, two make another word ("serve", "curve").
int slips_allowed(std::size_t length) {
  constexpr std::size_t kNone = 2, kOne = 6, kTwo = 12;
  return length <= kNone ? 0 : length <= kOne ? 1 : length <= kTwo ? 2 : 3;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  auto at = [](std::string_view s, std::size_t i) { return std::tolower(static_cast<unsigned char>(s[i])); };
  std::vector<int> two_up, up(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) up[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int same = at(a, i - 1) == at(b, j - 1) ? 0 : 1;
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + same});
      if (i > 1 && j > 1 && at(a, i - 1) == at(b, j - 2) && at(a, i - 2) == at(b, j - 1))
        row[j] = std::min(row[j], two_up[j - 2] + 1);
    }
    two_up = up;
    std::swap(up, row);
  }
  return up[b.size()];
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates, Meant meant) {
  constexpr std::size_t kLongest = 200;  // nothing is called so: a file given as a word is not measured
  if (word.size() > kLongest || !not_modelled(word, meant).empty()) return {};
  const std::string typed = folded(word), numbers = digits_in_order(typed);
  int best = slips_allowed(typed.size()) + 1;
  std::string found;
  for (const std::string& c : candidates) {
    const std::string known = folded(c);
    if (known.empty() || digits_in_order(known) != numbers) continue;
    const int d = edit_distance(typed, known);
    if (d < best) best = d, found = c;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string_view otherwise,
                         Meant meant) {
  if (std::string why = not_modelled(word, meant); !why.empty()) return why;
  const std::string near = closest(word, candidates, meant);
  return near.empty() ? std::string(otherwise) : "did you mean '" + near + "'?";
}

}  // namespace vramplan
