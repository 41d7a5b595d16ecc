// What kernels took on real cards' figures, row by row.
#include "tape/kernel_scratch.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

using namespace vramplan;

namespace {

const nlohmann::json& facts() {
  static const nlohmann::json all = nlohmann::json::parse(std::ifstream(TEST_ROOT "/data/kernel_scratch.json"));
  return all;
}

using Row = std::vector<std::int64_t>;

std::vector<Row> rows(const char* of) { return facts().at(of).get<std::vector<Row>>(); }

Device device(std::int64_t capability) { return {static_cast<int>(capability), capability == 80 ? 108 : 132}; }

std::uint64_t count(std::int64_t n) { return static_cast<std::uint64_t>(n); }

}  // namespace

TEST_CASE("sums over rows") {
  for (const Row& r : rows("column_sum")) {
    CAPTURE(nlohmann::json(r).dump());
    const ReduceScratch s = column_sum_scratch(device(r[0]), r[1], r[2], r[3]);
    CHECK(s.accumulator.count() == count(r[4]));
    CHECK(s.partial.count() == count(r[5]));
    CHECK(s.semaphores.count() == count(r[6]));
  }
}

TEST_CASE("norms of whole tensors") {
  for (const Row& r : rows("whole_sum")) {
    CAPTURE(nlohmann::json(r).dump());
    const ReduceScratch s = whole_sum_scratch(device(r[0]), r[1], r[2]);
    CHECK(s.accumulator.count() == count(r[3]));
    CHECK(s.partial.count() == count(r[4]));
    CHECK(s.semaphores.count() == count(r[5]));
  }
}

TEST_CASE("flash attention cuts the keys of small grids") {
  for (const Row& r : rows("flash_splits")) {
    CAPTURE(nlohmann::json(r).dump());
    CHECK(flash_splits(device(r[0]), r[1], r[2], r[2], r[3]) == r[4]);
  }
}

TEST_CASE("flash attention's buffers have the head size of its kernels") {
  // From the allocator's history of PyTorch 2.15: 4 x 2 heads of 160, 563 tokens, three splits; dQ has 640 rows.
  CHECK(3 * 8 * 563 * flash_head_dim(160) * 4 == 10377216);
  CHECK(8 * 640 * flash_head_dim(160) * 4 == 3932160);
  for (const auto& [size, padded] :
       {std::pair{32, 32}, {40, 64}, {96, 96}, {128, 128}, {136, 192}, {192, 192}, {256, 256}})
    CHECK(flash_head_dim(size) == padded);
}

TEST_CASE("workspace of efficient attention's backward") {
  for (const Row& r : rows("efficient_workspace")) {
    CAPTURE(nlohmann::json(r).dump());
    const bool half = r[4] != 0, dropout = r[5] != 0;
    const BackwardTile tile = efficient_backward_tile(device(r[0]), r[3], half, dropout);
    CHECK(efficient_backward_workspace(tile, r[1], r[2], r[2], r[3]).count() == count(r[6]));
    CHECK(tile.computes_delta == (r[7] != 0));
  }
}

TEST_CASE("radix sort of tokens") {
  for (const Row& r : rows("radix_sort")) {
    CAPTURE(nlohmann::json(r).dump());
    CHECK(radix_sort_scratch(device(r[0]), r[1], r[2]).count() == count(r[3]));
  }
}
