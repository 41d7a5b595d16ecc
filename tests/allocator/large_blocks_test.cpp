// Blocks beyond any hardware end in an answer or in an error that says so.
#include <doctest/doctest.h>

#include "allocator/caching.h"

using namespace vramplan;

TEST_CASE("expandable segments fit blocks of every size") {
  AllocatorOptions options;
  options.expandable = true;
  for (int power = 20; power <= 61; ++power)
    for (const std::uint64_t off : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << power) - 1}) {
      CAPTURE(power);
      const std::uint64_t size = (std::uint64_t{1} << power) + off;
      CachingAllocator a(options);
      REQUIRE(a.allocate(Bytes(size), 0));
      CHECK(a.allocated().count() >= size);
      CHECK(a.allocated().count() - size < 512);
      a.release(0);
      CHECK(a.allocated() == Bytes());
      REQUIRE(a.allocate(Bytes(size), 1));  // the pages are there
      CHECK(a.peak_reserved() == a.reserved());
    }
}

TEST_CASE("sums that leave 64 bits are refused or an overflow, with and without expandable segments") {
  for (const bool expandable : {false, true}) {
    AllocatorOptions options;
    options.expandable = expandable;
    CachingAllocator a(options);
    bool refused = false;
    try {
      for (CachingAllocator::Handle h = 0; h < 8 && !refused; ++h)
        refused = !a.allocate(Bytes(std::uint64_t{1} << 62), h);
    } catch (const Overflow&) {
      refused = true;
    }
    CHECK(refused);
    CHECK(a.allocated().count() % (std::uint64_t{1} << 62) == 0);
  }
}
