// The dynamic programmes against brute force over every way to cut.
#include "plan/cuts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "random.h"

using namespace vramplan;

namespace {

std::vector<ChainLayer> random_chain(test::Random& random, std::size_t layers) {
  std::vector<ChainLayer> chain(layers);
  for (ChainLayer& l : chain) l = {1 + random() % 9, random() % 60, random() % 30, random() % 12, 1.0 + random() % 5};
  return chain;
}

/// Calls `look` with every way to cut `left` layers: checkpointed runs, and plain layers when `plain` may be.
void every_way(std::int64_t left, bool plain, std::vector<std::int64_t>& runs,
               const std::function<void(const std::vector<std::int64_t>&)>& look) {
  if (left == 0) return look(runs);
  for (std::int64_t n = 1; n <= left; ++n) {
    runs.push_back(n);
    every_way(left - n, plain, runs, look);
    runs.back() = -n;
    if (plain && (runs.size() < 2 || runs[runs.size() - 2] > 0)) every_way(left - n, plain, runs, look);
    runs.pop_back();
  }
}

}  // namespace

TEST_CASE("the lowest peak for a number of segments, chains of up to 12 layers") {
  test::Random random(5);
  for (int i = 0; i < 40; ++i) {
    const std::size_t layers = 1 + random() % 12;
    const auto chain = random_chain(random, layers);
    std::vector<std::int64_t> lowest(layers + 1, INT64_MAX), runs;
    every_way(static_cast<std::int64_t>(layers), false, runs, [&](const std::vector<std::int64_t>& way) {
      lowest[way.size()] = std::min(lowest[way.size()], cost_of(chain, way).peak);
    });
    for (std::size_t n = 1; n <= layers; ++n) {
      const Cuts found = lowest_peak(chain, static_cast<std::int64_t>(n));
      CHECK(found.runs.size() == n);
      CHECK(found.peak == lowest[n]);
    }
  }
}

TEST_CASE("the least recomputation under a budget, chains of up to 10 layers, plain ones among them") {
  test::Random random(6);
  for (int i = 0; i < 40; ++i) {
    const std::size_t layers = 1 + random() % 10;
    const auto chain = random_chain(random, layers);
    const std::int64_t budget = 20 + random() % 250;
    double least = 1e300;
    std::vector<std::int64_t> runs;
    every_way(static_cast<std::int64_t>(layers), true, runs, [&](const std::vector<std::int64_t>& way) {
      const Cuts c = cost_of(chain, way);
      if (c.peak <= budget) least = std::min(least, c.recomputed);
    });
    const auto found = least_recomputed(chain, budget);
    CHECK(found.has_value() == (least < 1e300));
    if (!found) continue;
    CHECK(found->peak <= budget);
    CHECK(found->recomputed == least);
  }
}

TEST_CASE("equal layers without gradients: Chen's optimum") {
  // N B + (L / N) A is lowest at sqrt(L A / B) = 8 for L = 16, A = 4, B = 1.
  const std::vector<ChainLayer> chain(16, {1, 3, 0, 0, 1});
  std::int64_t best = INT64_MAX, at = 0;
  for (std::int64_t n = 1; n <= 16; ++n)
    if (const Cuts c = lowest_peak(chain, n); c.peak < best) best = c.peak, at = n;
  CHECK(at >= 6);
  CHECK(at <= 9);
}
