// The largest number that fits, also where fitting is not monotone.
#include "plan/search.h"

#include <doctest/doctest.h>

#include "random.h"

using namespace vramplan;

TEST_CASE("monotone: every limit is found, each value asked once") {
  for (std::int64_t limit = 0; limit < 200; ++limit) {
    std::vector<std::int64_t> asked;
    const auto found = largest_that_fits(3, 120, 3, [&](std::int64_t v) {
      asked.push_back(v);
      return v <= limit;
    });
    CAPTURE(limit);
    if (limit < 3)
      CHECK_FALSE(found.has_value());
    else
      CHECK(*found == std::min<std::int64_t>(120, limit / 3 * 3));
    std::sort(asked.begin(), asked.end());
    CHECK(std::adjacent_find(asked.begin(), asked.end()) == asked.end());
  }
  CHECK_FALSE(largest_that_fits(5, 4, 1, [](std::int64_t) { return true; }).has_value());
  CHECK(*largest_that_fits(1, 1 << 24, 1, [](std::int64_t) { return true; }) == 1 << 24);
}

TEST_CASE("a hole just above the first answer is seen") {
  CHECK(*largest_that_fits(1, 100, 1, [](std::int64_t v) { return v <= 12 && v != 9; }) == 12);
  CHECK(*largest_that_fits(1, 100, 1, [](std::int64_t v) { return v != 50 && v <= 75; }) >= 49);
}

TEST_CASE("whatever is answered fits, and what follows does not") {
  test::Random random(11);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t limit = 1 + static_cast<std::int64_t>(random() % 1000),
                       hole = static_cast<std::int64_t>(random() % 1000);
    auto fits = [&](std::int64_t v) { return v <= limit && v != hole; };
    if (const auto found = largest_that_fits(1, 2000, 1, fits)) {
      CHECK(fits(*found));
      CHECK_FALSE(fits(*found + 1));
    } else {
      CHECK_FALSE(fits(1));
    }
  }
}

TEST_CASE("with a monotone bound the largest is found whatever holes there are just below it") {
  test::Random random(17);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t bound = 1 + static_cast<std::int64_t>(random() % 900);
    std::vector<bool> holes(1001);
    for (std::size_t v = 0; v < holes.size(); ++v)
      holes[v] = random() % 3 == 0 && static_cast<std::int64_t>(v) + 60 > bound;
    auto fits = [&](std::int64_t v) { return v <= bound && !holes[static_cast<std::size_t>(v)]; };
    std::int64_t expected = 0;
    for (std::int64_t v = 1; v <= 1000; ++v)
      if (fits(v)) expected = v;
    const auto found = largest_that_fits(1, 1000, 1, fits, [&](std::int64_t v) { return v <= bound; });
    CAPTURE(bound);
    CHECK(found.value_or(0) == (fits(1) ? expected : 0));
  }
}
