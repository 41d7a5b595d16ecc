// How flags' texts become values: strictly, with an error that names the flag and what is known.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "train/words.h"
#include "vramplan/base/bytes.h"
#include "vramplan/base/error.h"

namespace vramplan {

/// `otherwise` for an empty text.
inline std::int64_t count_or(const std::string& text, const char* flag, std::int64_t otherwise) {
  return text.empty() ? otherwise : parse_count(text, flag);
}
/// A finite number.
double number(const std::string& text, const char* flag);

template <class T, std::size_t N>
T word(const Word<T> (&words)[N], const std::string& text, const char* flag, T otherwise) {
  if (text.empty()) return otherwise;
  if (auto v = value_of(words, text)) return *v;
  const std::vector<std::string> known = all_words(words);
  throw UserError(fmt::format("'{}' is not known here", text), flag,
                  did_you_mean(text, known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
}

}  // namespace vramplan
