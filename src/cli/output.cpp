#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/visible.h"
#include "base/whole_file.h"

namespace vramplan {
namespace {

/// A reader that went away is the usual end of a pipe, also where its signal is blocked.
[[noreturn]] void failed(int error) {
  if (error == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &pipe, nullptr);
    std::raise(SIGPIPE);
  }
  throw OutputError(error);
}

bool is_standard_output(const std::string& path) { return path == "-" || path == "/dev/stdout"; }

}  // namespace

OutputError::OutputError(int error)
    : UserError(fmt::format("cannot be written: {}", std::strerror(error)), "standard output",
                "check the space left where it goes; what was printed until now is not whole") {}

void reserve_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    const int wrong_way = number == STDOUT_FILENO ? O_RDONLY : O_WRONLY;  // reading and writing fail as before
    if (open("/dev/null", wrong_way) != number) continue;  // without /dev/null there is nothing to be done
  }
}

void print(std::string_view text) { print_painted(visible(text)); }

void print_painted(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) failed(errno);
}

void tell(std::string_view text) {
  const std::string shown = visible(text);
  [[maybe_unused]] const auto written = std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void finish_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) failed(errno ? errno : EIO);
}

void write_output(const Context& context, const std::string& path, const std::string& text) {
  write_bytes(context, path, visible(text));
}

void write_bytes(const Context& context, const std::string& path, const std::string& bytes) {
  if (is_standard_output(path)) return print_painted(bytes);
  write_whole(path, bytes);
  if (!context.quiet) tell(fmt::format("wrote {}\n", visible_word(path)));
}

void check_output(const std::string& path) {
  if (!is_standard_output(path)) check_writable(path);
}

void append_to(const std::string& path, const std::string& text) { append_whole(path, visible(text)); }

}  // namespace vramplan
