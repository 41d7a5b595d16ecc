// How far a long piece of work has come, on standard error: one line that is written over, and only on a terminal.
#pragma once
#include <chrono>
#include <cstddef>

namespace vramplan {

class Progress {
 public:
  /// `total` 0: not known.
  explicit Progress(std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void at(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;
  const std::size_t total_;
  const bool shown_;
  const Clock::time_point start_;
  Clock::time_point last_;
  bool written_ = false;
};

}  // namespace vramplan
