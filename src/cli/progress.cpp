#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace vramplan {

Progress::Progress(std::size_t total)
    : total_(total), shown_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (written_) std::fputs("\r\x1b[K", stderr);
}

void Progress::at(std::size_t done) {
  constexpr std::chrono::milliseconds kBetween{200};
  const auto now = Clock::now();
  if (!shown_ || now - last_ < kBetween || done == 0) return;
  last_ = now;
  written_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count(),
               rate = static_cast<double>(done) / seconds;
  const std::string line = total_ == 0 ? fmt::format("{} rows, {:.0f}/s", done, rate)
                                       : fmt::format("{} of {} ({:.0f} %), {:.0f}/s, {:.0f} s left", done, total_,
                                                     100.0 * static_cast<double>(done) / static_cast<double>(total_),
                                                     rate, static_cast<double>(total_ - done) / rate);
  std::fputs(("\r" + line + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace vramplan
