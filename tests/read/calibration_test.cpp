#include "read/calibration.h"

#include <doctest/doctest.h>

#include "random.h"
#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("a calibration replaces what it names and leaves the rest") {
  const Calibration c = read_calibration(R"({"context_bytes": 500000000, "efficiency": {"matrix": 0.8}})", "c.json");
  CHECK(c.context == Bytes(500000000));
  CHECK(c.efficiency.matrix == 0.8);
  CHECK(c.efficiency.memory == Efficiency().memory);
  CHECK(c.origin == "c.json");
  CHECK_FALSE(read_calibration("{}", "c.json").context);
}

TEST_CASE("anything else is an error that says where") {
  for (const char* bad : {"", "[]", "{", R"({"context": 5})", R"({"context_bytes": -1})", R"({"context_bytes": "5"})",
                          R"({"efficiency": {"matrix": 0}})", R"({"efficiency": {"matrix": 1.5}})",
                          R"({"efficiency": {"gemm": 0.5}})", R"({"launch_us": -3})", R"({"launch_us": 1e400})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read_calibration(bad, "c.json"), UserError);
  }
}

TEST_CASE("damaged calibrations never crash") {
  const std::string good =
      R"({"context_bytes": 500000000, "launch_us": 4.5, "efficiency": {"matrix": 0.8, "memory": 0.9}})";
  test::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (std::uint32_t k = random() % 4 + 1; k > 0; --k)
      text[random() % text.size()] = static_cast<char>(32 + random() % 95);
    try {
      read_calibration(text, "c.json");
    } catch (const UserError&) {
    }
  }
}
