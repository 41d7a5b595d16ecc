#include "read/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// A descriptor that is closed at the end, unless it is standard input.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : number_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (number_ > STDIN_FILENO) close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void cannot_read(const std::string& path, int error) {
  throw UserError(fmt::format("the file cannot be read: {}", std::strerror(error)), path,
                  "check the path and its permissions");
}

void check_folder(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw UserError("this is a folder, not a file", path, "name the file in it");
}

}  // namespace

std::string read_file(const std::string& path, std::size_t largest) {
  if (path != "-") check_folder(path);
  const OpenFile file(path);
  if (file.number() < 0) cannot_read(path, errno);
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string out;
  for (;;) {
    const std::size_t before = out.size();
    out.resize(before + kPiece);
    const ssize_t n = read(file.number(), out.data() + before, kPiece);
    if (n < 0 && errno != EINTR) cannot_read(path, errno);
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) return out;
    if (const std::size_t zero = out.find('\0', before); zero != std::string::npos)
      throw UserError(fmt::format("this is no text: byte {} is zero", zero), path, "name a text file");
    if (out.size() > largest)
      throw UserError(fmt::format("larger than {} MiB, the most that is read of such a file", largest >> 20), path,
                      "check that it is the file you mean");
  }
}

std::vector<std::string> read_lines(const std::string& path) {
  std::istringstream text(read_file(path, kLargestList));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(std::move(line));
  return lines;
}

void check_readable(const std::string& path) {
  check_folder(path);
  const OpenFile file(path);
  if (file.number() < 0) cannot_read(path, errno);
}

void check_nesting(std::string_view json, const std::string& where) {
  std::size_t depth = 0;
  bool in_string = false, escaped = false;
  for (const char c : json) {
    if (in_string) {
      in_string = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest)
        throw UserError(fmt::format("lists and objects stand more than {} deep in each other", kDeepest), where,
                        "nothing that is read here is that deep: check the file");
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
}

}  // namespace vramplan
