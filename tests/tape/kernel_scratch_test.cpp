// What kernels took on real cards' figures, row by row.
#include "tape/kernel_scratch.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace vramplan;

namespace {

const nlohmann::json& facts() {
  static const nlohmann::json all = nlohmann::json::parse(std::ifstream(TEST_ROOT "/data/kernel_scratch.json"));
  return all;
}

Device device(const nlohmann::json& capability) { return capability == 80 ? Device{80, 108} : Device{90, 132}; }

}  // namespace

TEST_CASE("sums over rows") {
  for (const auto& r : facts().at("column_sum")) {
    CAPTURE(r.dump());
    const ReduceScratch s = column_sum_scratch(device(r[0]), r[1], r[2], r[3]);
    CHECK(s.accumulator.count() == r[4]);
    CHECK(s.partial.count() == r[5]);
    CHECK(s.semaphores.count() == r[6]);
  }
}

TEST_CASE("flash attention cuts the keys of small grids") {
  for (const auto& r : facts().at("flash_splits")) {
    CAPTURE(r.dump());
    CHECK(flash_splits(device(r[0]), r[1], r[2], r[2], r[3]) == r[4]);
  }
}

TEST_CASE("workspace of efficient attention's backward") {
  for (const auto& r : facts().at("efficient_workspace")) {
    CAPTURE(r.dump());
    CHECK(efficient_backward_workspace(r[0], r[1], r[1], r[2], r[3]).count() == r[4]);
  }
}

TEST_CASE("radix sort of tokens") {
  for (const auto& r : facts().at("radix_sort")) {
    CAPTURE(r.dump());
    CHECK(radix_sort_scratch(device(r[0]), r[1], r[2]).count() == r[3]);
  }
}
