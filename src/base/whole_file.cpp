#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "vramplan/base/error.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw UserError(std::string("cannot be written: ") + std::strerror(error), path,
                  "check the folder and the space left on it");
}

/// Where a chain of symbolic links ends, whether a file is there or not.
fs::path without_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

/// What an open file is named: replacing it would leave the one that has it open with the old one.
bool names_descriptor(const std::string& path) { return path.starts_with("/dev/") || path.starts_with("/proc/"); }

/// 0, or why the text was not written whole. Closes the file.
int filled(int file, std::string_view text) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n >= 0)
      text.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      error = errno;
  }
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

void write_in_place(const std::string& path, std::string_view text, int flags) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (file < 0) cannot_write(path, errno);
  if (const int error = filled(file, text)) cannot_write(path, error);
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void write_whole(const std::string& path, std::string_view text) {
  const fs::path place = without_links(path);
  struct stat there {};
  const bool exists = stat(place.c_str(), &there) == 0;
  if (names_descriptor(path) || (exists && (!S_ISREG(there.st_mode) || there.st_nlink > 1)))
    return write_in_place(path, text, O_TRUNC);
  if (exists && access(place.c_str(), W_OK) != 0) cannot_write(path, errno);
  std::string beside = (place.parent_path() / ".vramplan-XXXXXX").string();
  const int file = mkostemp(beside.data(), O_CLOEXEC);
  if (file < 0 && exists) return write_in_place(path, text, O_TRUNC);  // the folder is another's, the file is not
  if (file < 0) cannot_write(path, errno);
  if (exists && fchown(file, there.st_uid, there.st_gid) != 0) errno = 0;  // ours then, as any new file is
  int error = fchmod(file, exists ? there.st_mode & 07777 : usual_mode()) == 0 ? 0 : errno;
  const int unwritten = filled(file, text);
  if (error == 0) error = unwritten;
  if (error == 0 && rename(beside.c_str(), place.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(beside.c_str());
  cannot_write(path, error);
}

void append_whole(const std::string& path, std::string_view text) { write_in_place(path, text, O_APPEND); }

void check_writable(const std::string& path) {
  const fs::path place = without_links(path);
  struct stat there {};
  if (stat(place.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) cannot_write(path, EISDIR);
    if (access(place.c_str(), W_OK) != 0) cannot_write(path, errno);
    return;
  }
  if (errno != ENOENT) cannot_write(path, errno);
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  if (access(folder.c_str(), W_OK | X_OK) != 0) cannot_write(path, errno);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const auto place = [&](const std::string& path) {
    const fs::path found = without_links(path);
    return fs::weakly_canonical(fs::absolute(found, error), error);
  };
  const fs::path x = place(a), y = place(b);
  return !x.empty() && x == y;
}

}  // namespace vramplan
