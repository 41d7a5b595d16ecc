// The same work for each of n items on all cores. Results go into slots by index, so they never depend on the number
// of threads; the first exception is thrown again when all have ended.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace vramplan {

template <class Work>
void parallel_for(std::size_t n, const Work& work) {
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
    const std::size_t threads = std::min<std::size_t>(n, std::max(1u, std::thread::hardware_concurrency()));
    for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back(loop);
    loop();
  }
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
}

}  // namespace vramplan
