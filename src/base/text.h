// Small things about text that readers of sizes, flags and lists share.
#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace vramplan {

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Takes the first item off a list: what stands before `separator`, or all of it.
inline std::string take_item(std::string_view& list, char separator) {
  std::string item(list.substr(0, list.find(separator)));
  list.remove_prefix(std::min(item.size() + 1, list.size()));
  return item;
}

}  // namespace vramplan
