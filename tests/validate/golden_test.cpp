// What PyTorch did, case by case: parameters, held bytes and every instant of both steps, to the byte.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include "random.h"
#include "read/allocator_trace.h"

#include "validate/validate.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

std::size_t lines_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::size_t n = 0;
  for (std::string line; std::getline(file, line);) n += !line.empty();
  return n;
}

}  // namespace

TEST_CASE("every case of every golden file is expressed and exact, in tensors and on every card") {
  std::size_t files = 0, cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TEST_ROOT "/golden")) {
    CAPTURE(entry.path().string());
    const std::vector<ValidatedGroup> groups = validate_file(entry.path().string());
    CHECK(groups.front().name == entry.path().stem().string());
    CHECK(groups.front().cases == lines_in(entry.path()));
    for (const ValidatedGroup& g : groups) {
      CAPTURE(g.name);
      CHECK(g.expressed == g.cases);
      CHECK(g.exact == g.cases);
      CHECK(g.held_exact == g.cases);
      CHECK(g.parameters_exact == g.cases);
      CHECK(g.worst == 0);
      CHECK(within_bounds(g));
    }
    ++files;
    cases += groups.front().cases;
  }
  CHECK(files >= 28);
  CHECK(cases >= 767);
}

TEST_CASE("the comparison can fail: a case with one changed byte is found, and the tensors are named") {
  std::ifstream file(TEST_ROOT "/golden/llama.jsonl");
  std::string line;
  std::getline(file, line);
  GoldenCase g = read_golden(line, "llama");
  CHECK(validate_case(g).exact);
  CHECK(differing_tensors(g).empty());
  (*g.steps)[1].peak_backward.requested += Bytes(1);
  CHECK_FALSE(validate_case(g).exact);
  CHECK(validate_case(g).worst_where == "step2.peak_backward");
  g = read_golden(line, "llama");
  g.options.seq += 8;
  CHECK_FALSE(validate_case(g).held_exact);
  CHECK_FALSE(differing_tensors(g).empty());
}

TEST_CASE("traces of the allocator are validated like cases") {
  const auto groups = validate_file(TEST_ROOT "/data/allocator.jsonl");
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].cases == 45);
  CHECK(groups[0].exact == 45);
  for (const char* bad : {R"({"segments":[],"id":"x","conf":"","capacity":9,"events":[8,-1,-1]})",
                          R"({"segments":[],"id":"x","conf":"","capacity":9,"events":[8,-9223372036854775808]})",
                          R"({"segments":[],"id":"x","conf":"","capacity":9,"events":[1.5]})"}) {
    CAPTURE(bad);
    CHECK(is_allocator_trace(bad));
    CHECK_THROWS_AS(read_allocator_trace(bad, "t"), UserError);
  }
}

TEST_CASE("damaged golden lines are read or refused, never crash") {
  std::ifstream file(TEST_ROOT "/golden/textbook.jsonl");
  std::string line;
  std::getline(file, line);
  test::Random random(3);
  for (int i = 0; i < 1000; ++i) {
    std::string text = line;
    for (unsigned n = 1 + random() % 3; n > 0 && !text.empty(); --n) {
      const std::size_t at = random() % text.size();
      if (random() % 2)
        text[at] = static_cast<char>(random());
      else
        text.erase(at, 1 + random() % 20);
    }
    try {
      read_golden(text, "t");
    } catch (const UserError&) {
    }
  }
  CHECK_THROWS_AS(validate_file("/nonexistent.jsonl"), UserError);
}
