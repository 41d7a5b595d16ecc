#include "vramplan/base/bytes.h"

#include <doctest/doctest.h>

#include "random.h"

#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("arithmetic past 64 bits throws and never wraps") {
  const Bytes most(UINT64_MAX);
  CHECK_THROWS_AS(most + Bytes(1), Overflow);
  CHECK_THROWS_AS(Bytes(1) - Bytes(2), Overflow);
  CHECK_THROWS_AS(Bytes(uint64_t{1} << 63) * 2, Overflow);
  CHECK_THROWS_AS(most.rounded_up(512), Overflow);
  CHECK_THROWS_AS(checked_multiply(INT64_MAX, 2), Overflow);
  CHECK_THROWS_AS(checked_add(INT64_MAX, 1), Overflow);
  CHECK(most - Bytes(UINT64_MAX) == Bytes());
}

TEST_CASE("rounding up to blocks") {
  CHECK(Bytes(0).rounded_up(512) == Bytes(0));
  CHECK(Bytes(1).rounded_up(512) == Bytes(512));
  CHECK(Bytes(512).rounded_up(512) == Bytes(512));
  CHECK(Bytes(513).rounded_up(512) == Bytes(1024));
}

TEST_CASE("GB and GiB are read and never mixed") {
  CHECK(parse_bytes("24GB") == Bytes(24'000'000'000));
  CHECK(parse_bytes("24GiB") == Bytes(24 * kGiB));
  CHECK(parse_bytes("1.5 GiB") == Bytes(1'610'612'736));
  CHECK(parse_bytes("80gib") == Bytes(80 * kGiB));
  CHECK(parse_bytes("4096") == Bytes(4096));
  CHECK(parse_bytes("2TiB") == Bytes(2048 * kGiB));
  CHECK(parse_bytes("0.5KiB") == Bytes(512));
  for (const char* bad : {"", "GiB", "24G", "-1GiB", "1.2.3GiB", "24 GiBs", "99999999999999TiB", "1e9"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_bytes(bad), UserError);
  }
}

TEST_CASE("sizes print with their unit, up to the largest") {
  CHECK(format_bytes(Bytes(0)) == "0 B");
  CHECK(format_bytes(Bytes(1023)) == "1023 B");
  CHECK(format_bytes(Bytes(1024)) == "1.00 KiB");
  CHECK(format_bytes(Bytes(kMiB - 1)) == "1.00 MiB");
  CHECK(format_bytes(Bytes(kGiB)) == "1.00 GiB");
  CHECK(format_bytes(Bytes(1024 * kGiB)) == "1.00 TiB");
  CHECK(format_bytes(Bytes(1024 * 1024 * kGiB)) == "1.00 PiB");
  CHECK(format_gib(Bytes(80 * kGiB)) == "80.00 GiB");
}

TEST_CASE("counts: 7B, 124M, 8Ki; a bare 8k is refused with both spellings") {
  CHECK(parse_count("7B", "n") == 7'000'000'000);
  CHECK(parse_count("124M", "n") == 124'000'000);
  CHECK(parse_count("1.5K", "n") == 1500);
  CHECK(parse_count("8Ki", "n") == 8192);
  CHECK(parse_count("8K", "n") == 8000);
  CHECK(parse_count("2048", "n") == 2048);
  try {
    parse_count("8k", "--seq");
    FAIL("8k was taken");
  } catch (const UserError& e) {
    CHECK(std::string(e.what()) == "--seq '8k' could mean 8000 or 8192");
    CHECK(e.hint == "write 8K for 8000 or 8Ki for 8192");
    CHECK(e.status == Exit::usage);
  }
  for (const char* bad : {"", "k", "-3", "3.5.1", "ten", "99999999999999999999", "9223372036854775808"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_count(bad, "n"), UserError);
  }
  CHECK(format_count(-1234567) == "-1,234,567");
}

TEST_CASE("any text is read or refused, never crashes, and what prints in bytes reads back") {
  test::Random random(7);
  const std::string letters = "0123456789.kKMGTiB eE+-xX\xc3\xa9";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned n = random() % 9; n > 0; --n) text += letters[random() % letters.size()];
    try {
      parse_bytes(text);
      parse_count(text, "n");
    } catch (const UserError&) {
    }
    const Bytes b(random());
    CHECK(parse_bytes(std::to_string(b.count())) == b);
  }
}
