#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace vramplan {

Progress::Progress(std::size_t total)
    : total_(total), shown_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (written_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::at(std::size_t done) {
  constexpr std::chrono::milliseconds kBetween{200};
  const auto now = Clock::now();
  if (!shown_ || now - last_ < kBetween || done == 0) return;
  last_ = now;
  written_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count(),
               rate = static_cast<double>(done) / seconds;
  if (total_ == 0)
    fmt::print(stderr, "\r{} rows, {:.0f}/s\x1b[K", done, rate);
  else
    fmt::print(stderr, "\r{} of {} ({:.0f} %), {:.0f}/s, {:.0f} s left\x1b[K", done, total_,
               100.0 * static_cast<double>(done) / static_cast<double>(total_), rate,
               static_cast<double>(total_ - done) / rate);
  std::fflush(stderr);
}

}  // namespace vramplan
