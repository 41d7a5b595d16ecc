#include "plan/search.h"

#include <algorithm>
#include <map>

namespace vramplan {
namespace {

class Search {
 public:
  Search(std::int64_t low, std::int64_t count, std::int64_t step, const Question& fits, const Question& possible)
      : low_(low), count_(count), step_(step), fits_(fits), possible_(possible) {}

  /// Each value is asked once.
  bool fits(std::int64_t i) {
    const auto [it, fresh] = known_.try_emplace(i, false);
    if (fresh) it->second = fits_(low_ + i * step_);
    return it->second;
  }

  std::optional<std::int64_t> run() {
    if (!fits(0)) return std::nullopt;
    std::int64_t good = 0, bad = 1;
    while (bad < count_ && fits(bad)) good = bad, bad = std::min(2 * bad + 1, count_);
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    return low_ + (possible_ ? below_bound(good) : beyond(good)) * step_;
  }

 private:
  /// `good`, or a larger value that fits although one between does not.
  std::int64_t beyond(std::int64_t good) {
    std::int64_t highest = good;
    for (std::int64_t more : {good + 2, good + 3, good + good / 4, good + good / 2})
      if (more > good && more < count_ && fits(more)) highest = std::max(highest, more);
    return highest > good ? last_in_a_row(highest) : good;
  }

  /// The largest of the next 64 that is possible and fits; else as without a bound.
  std::int64_t below_bound(std::int64_t good) {
    constexpr std::int64_t kMostAsked = 64;
    std::int64_t possible = good, impossible = std::min(good + kMostAsked + 1, count_);
    while (impossible - possible > 1) {
      const std::int64_t middle = possible + (impossible - possible) / 2;
      (possible_(low_ + middle * step_) ? possible : impossible) = middle;
    }
    for (; possible > good; --possible)
      if (fits(possible)) return last_in_a_row(possible);
    return beyond(good);
  }

  std::int64_t last_in_a_row(std::int64_t i) {
    while (i + 1 < count_ && fits(i + 1)) ++i;
    return i;
  }

  std::int64_t low_, count_, step_;
  const Question& fits_;
  const Question& possible_;
  std::map<std::int64_t, bool> known_;
};

}  // namespace

std::optional<std::int64_t> largest_that_fits(std::int64_t low, std::int64_t high, std::int64_t step,
                                              const Question& fits, const Question& possible) {
  if (high < low) return std::nullopt;
  return Search(low, (high - low) / step + 1, step, fits, possible).run();
}

}  // namespace vramplan
