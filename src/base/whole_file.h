// Files are there whole or not at all: written beside their place under another name, and put there when they are
// complete, so that a run that is killed leaves what was there, and two that write the same file leave one of the two.
#pragma once
#include <string>
#include <string_view>

namespace vramplan {

/// Follows symbolic links; a file that is replaced keeps its permissions. What is no regular file (a pipe, a device),
/// or has several names, is written as it stands. Throws UserError when it cannot be written whole.
void write_whole(const std::string& path, std::string_view text);

/// At the end of a file, in one piece; it is made where there is none. Throws UserError.
void append_whole(const std::string& path, std::string_view text);

/// Whether `write_whole` has a chance: the folder is there, and what stands there may be written. Nothing is touched.
/// Throws UserError.
void check_writable(const std::string& path);

/// Whether two paths lead to one file, there or not yet.
bool same_file(const std::string& a, const std::string& b);

}  // namespace vramplan
