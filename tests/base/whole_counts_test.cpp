// Counts are whole; nothing is rounded behind a user's back.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "random.h"
#include "vramplan/base/bytes.h"
#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("a count with a fraction is refused, one whose unit makes it whole is not") {
  for (const char* bad :
       {"1.024", "64.9", "3.99", "0.5", "1.0001K", "1.00000000000000000001Ki", "1.0000000001", ".", ""}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_count(bad, "n"), UserError);
  }
  CHECK(parse_count("1.5Ki", "n") == 1536);
  CHECK(parse_count("1.024K", "n") == 1024);
  CHECK(parse_count("100.0", "n") == 100);
  CHECK(parse_count("0.000000001B", "n") == 1);
  CHECK(parse_count("1.50000000000000000000000Ki", "n") == 1536);
}

TEST_CASE("whatever is read as a count is exactly what was written") {
  test::Random random(11);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t whole = random() % 4000, part = random() % 1000;
    const std::string text = fmt::format("{}.{:03}K", whole, part);
    CHECK(parse_count(text, "n") == whole * 1000 + part);
    const std::string finer = fmt::format("{}.{:03}{}K", whole, part, 1 + random() % 9);
    CHECK_THROWS_AS(parse_count(finer, "n"), UserError);
  }
}

TEST_CASE("bytes without a unit are whole, parts of a GiB are let go of") {
  CHECK_THROWS_AS(parse_bytes("64.9"), UserError);
  CHECK_THROWS_AS(parse_bytes("64.9B"), UserError);
  CHECK(parse_bytes("79.15GiB") == Bytes(84986665369));
}
