// The simulated allocator against traces of PyTorch's own: every peak and end, and each segment at its request.
#include "allocator/caching.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "random.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

/// Replays every trace of a file; returns how many.
int replay_all(const char* path) {
  std::ifstream file(path);
  int traces = 0;
  for (std::string line; std::getline(file, line); ++traces) {
    const auto j = nlohmann::json::parse(line);
    CAPTURE(j.at("id").get<std::string>());
    AllocatorOptions options = parse_alloc_conf(j.at("conf").get<std::string>());
    options.capacity = j.at("capacity").get<std::uint64_t>();
    if (j.contains("fraction")) {
      options.memory_limit =
          static_cast<std::uint64_t>(j.at("fraction").get<double>() * static_cast<double>(options.capacity));
      options.capacity = options.memory_limit;
    }
    CachingAllocator allocator(options);
    std::map<std::size_t, std::int64_t> expected, found;
    for (const auto& s : j.at("segments")) expected[s.at(0).get<std::size_t>()] += s.at(1).get<std::int64_t>();
    std::uint32_t next = 0;
    std::size_t index = 0;
    for (const auto& e : j.at("events")) {
      const auto n = e.get<std::int64_t>();
      const auto before = static_cast<std::int64_t>(allocator.reserved().count());
      if (n >= 0)
        CHECK(allocator.allocate(Bytes(static_cast<std::uint64_t>(n)), next++));
      else
        allocator.release(static_cast<std::uint32_t>(-n - 1));
      if (const auto d = static_cast<std::int64_t>(allocator.reserved().count()) - before) found[index] += d;
      ++index;
    }
    CHECK(allocator.peak_allocated().count() == j.at("peak_allocated").get<std::uint64_t>());
    CHECK(allocator.peak_reserved().count() == j.at("peak_reserved").get<std::uint64_t>());
    CHECK(allocator.allocated().count() == j.at("end_allocated").get<std::uint64_t>());
    CHECK(allocator.reserved().count() == j.at("end_reserved").get<std::uint64_t>());
    CHECK(allocator.retries() == j.at("retries").get<int>());
    CHECK(found == expected);
  }
  return traces;
}

}  // namespace

TEST_CASE("45 traces of PyTorch's allocator, segment by segment") {
  CHECK(replay_all(TEST_ROOT "/data/allocator.jsonl") == 45);
}

TEST_CASE("24 traces under set_per_process_memory_fraction, most with garbage collection") {
  CHECK(replay_all(TEST_ROOT "/data/allocator_fraction.jsonl") == 24);
}

TEST_CASE("a published memory snapshot: 40,000, 40, 4,000 and 40 bytes and one matrix product's workspace") {
  CachingAllocator a({});
  std::uint32_t id = 0;
  for (std::uint64_t n : {40000, 40, 4000, 40, 8519680}) CHECK(a.allocate(Bytes(n), id++));
  CHECK(a.reserved() == Bytes(2097152 + 20971520));
  CHECK(a.allocated() == Bytes(40448 + 512 + 4096 + 512 + 8519680));
}

TEST_CASE("whatever is asked, the books are in order and everything comes back") {
  test::Random random(9);
  for (const char* conf : {"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:8"}) {
    CachingAllocator a(parse_alloc_conf(conf));
    std::vector<std::uint32_t> live;
    std::uint32_t id = 0;
    for (int i = 0; i < 5000; ++i) {
      if (!live.empty() && random() % 100 < 48) {
        std::swap(live[random() % live.size()], live.back());
        a.release(live.back());
        live.pop_back();
      } else {
        CHECK(a.allocate(Bytes(1 + random() % (std::uint64_t{1} << (random() % 27))), id));
        live.push_back(id++);
      }
      CHECK(a.allocated() <= a.reserved());
      CHECK(a.peak_allocated() >= a.allocated());
      if (i % 50) continue;
      Bytes held, used;  // the map is conserved, and no two free blocks lie side by side
      for (const SegmentLayout& s : a.layout()) {
        bool free_before = false;
        for (const SegmentLayout::Block& b : s.blocks) {
          CHECK(b.size > Bytes());
          CHECK_FALSE((free_before && !b.used));
          free_before = !b.used;
          held += b.size;
          if (b.used) used += b.size;
        }
      }
      CHECK(held == a.reserved());
      CHECK(used == a.allocated());
    }
    for (std::uint32_t l : live) a.release(l);
    CHECK(a.allocated() == Bytes());
  }
}

TEST_CASE("exhausted memory: cached blocks go back first, then the request fails") {
  AllocatorOptions o;
  o.capacity = 100 * kMiB;
  CachingAllocator a(o);
  CHECK(a.allocate(Bytes(60 * kMiB), 0));
  a.release(0);
  CHECK(a.allocate(Bytes(80 * kMiB), 1));
  CHECK(a.retries() == 1);
  CHECK_FALSE(a.allocate(Bytes(30 * kMiB), 2));
  CHECK(a.reserved() == Bytes(80 * kMiB));
}

TEST_CASE("options") {
  CHECK(parse_alloc_conf("expandable_segments:True,max_split_size_mb:64").max_split == 64 * kMiB);
  for (const char* bad : {"expandable_segment:True", "expandable_segments:yes", "max_split_size_mb:x",
                          "max_split_size_mb:8", "nonsense"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_alloc_conf(bad), UserError);
  }
}
