// What the statuses of a driver's library mean, and what to do: a table, whose last row stands for all that are
// unknown.
#pragma once
#include <cstddef>

namespace vramplan {

struct StatusWord {
  int code;
  const char* meaning;
  const char* next;  ///< may be empty
};

template <std::size_t N>
const StatusWord& word_of(const StatusWord (&words)[N], int code) {
  for (const StatusWord& w : words)
    if (w.code == code) return w;
  return words[N - 1];
}

}  // namespace vramplan
