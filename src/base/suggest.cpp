#include "base/suggest.h"

#include <algorithm>
#include <cctype>

namespace vramplan {

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

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  const int limit = std::min(3, static_cast<int>(word.size()) / 2);
  int best = limit + 1;
  std::string found;
  for (const std::string& c : candidates) {
    const int d = edit_distance(word, c);
    if (d < best) best = d, found = c;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view otherwise) {
  const std::string near = closest(word, candidates);
  return near.empty() ? std::string(otherwise) : "did you mean '" + near + "'?";
}

}  // namespace vramplan
