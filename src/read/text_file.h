// The one way to read a file of the user's: whole, and no larger than it can sensibly be, so that a device or a file
// without an end is refused in a moment rather than when the memory is full.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

constexpr std::size_t kLargestDocument = std::size_t{16} << 20;  ///< bytes of a config, a job file, a list of cards
constexpr std::size_t kLargestList = std::size_t{256} << 20;     ///< bytes of a file of cases, one a line
constexpr std::size_t kLargestRow = std::size_t{1} << 20;        ///< bytes of a row of `batch`
constexpr std::size_t kDeepest = 64;                             ///< lists and objects of JSON in each other

/// A file, whole; "-" is standard input. Throws UserError when it cannot be read, is a folder, is larger than `largest`
/// or holds a zero byte, which no text does.
std::string read_file(const std::string& path, std::size_t largest = kLargestDocument);

/// The lines of a list that are not empty. Throws UserError as `read_file` does.
std::vector<std::string> read_lines(const std::string& path);

/// Before a file is read row by row. Throws UserError when it is not there, may not be read or is a folder.
void check_readable(const std::string& path);

/// Throws UserError at `where` for JSON whose lists and objects stand deeper in each other than `kDeepest`.
void check_nesting(std::string_view json, const std::string& where);

}  // namespace vramplan
