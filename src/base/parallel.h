// The same work for each of n items on all cores. Results go into slots by index, so they never depend on the number
// of threads; the first exception is thrown again when all have ended. `threads` 0: as many as there are cores.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace vramplan {

template <class Work>
void parallel_for(std::size_t n, const Work& work, std::size_t threads = 0) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(n);
  auto loop = [&] {
    for (std::size_t i; (i = next++) < n;) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    try {
      for (std::size_t t = 1; t < std::min(n, threads); ++t) helpers.emplace_back(loop);
    } catch (const std::system_error&) {  // as many as the system allows, this one at least
    }
    loop();
  }
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
}

}  // namespace vramplan
