#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "backend/host_number.h"

using namespace vramplan::host;

TEST_CASE("bf16 rounds to nearest, ties to even") {
  CHECK(to_bf16(1.0F) == 0x3f80);
  CHECK(to_bf16(1.0F + 0x1p-8F) == 0x3f80);      // halfway, even below
  CHECK(to_bf16(1.0F + 3 * 0x1p-8F) == 0x3f82);  // halfway, even above
  CHECK(to_bf16(1.0F + 1.01F * 0x1p-8F) == 0x3f81);
  CHECK(std::isnan(from_bf16(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isinf(from_bf16(to_bf16(std::numeric_limits<float>::infinity()))));
}

TEST_CASE("every fp16 number survives, and rounding is to nearest even") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float f = from_fp16(static_cast<std::uint16_t>(h));
    if (!std::isnan(f)) CHECK(to_fp16(f) == h);
  }
  CHECK(from_fp16(0x3c00) == 1.0F);
  CHECK(from_fp16(0x7bff) == 65504.0F);
  CHECK(to_fp16(65519.0F) == 0x7bff);
  CHECK(to_fp16(65520.0F) == 0x7c00);
  CHECK(to_fp16(1.0F + 0x1p-11F) == 0x3c00);
  CHECK(to_fp16(1.0F + 3 * 0x1p-11F) == 0x3c02);
  CHECK(to_fp16(0x1p-25F) == 0);
  CHECK(to_fp16(1.5F * 0x1p-25F) == 1);
}

TEST_CASE("random draws are a function of their place alone") {
  double sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double u = uniform({1, 2}, i);
    CHECK(u >= 0);
    CHECK(u < 1);
    sum += u;
  }
  CHECK(sum / 10000 == doctest::Approx(0.5).epsilon(0.02));
  CHECK(uniform({1, 2}, 3) == uniform({1, 2}, 3));
  CHECK(uniform({1, 2}, 3) != uniform({1, 3}, 3));
  CHECK(uniform({2, 2}, 3) != uniform({1, 2}, 3));
}
