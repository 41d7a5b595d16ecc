// What PyTorch did, case by case: parameters, held bytes and every instant of both steps, to the byte.
#include <doctest/doctest.h>

#include <fstream>
#include "random.h"
#include "read/allocator_trace.h"

#include "validate/validate.h"
#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("every expressed case is exact") {
  struct Row {
    const char* group;
    std::size_t cases, expressed;
  };
  for (const Row& r : {Row{"gpt2", 17, 17},         Row{"llama", 21, 21},        Row{"mistral", 19, 19},
                       Row{"qwen2", 16, 16},        Row{"segments", 35, 35},     Row{"textbook", 10, 10},
                       Row{"optimizers", 16, 16},   Row{"loops", 13, 13},        Row{"full", 19, 19},
                       Row{"lora", 15, 15},         Row{"losses", 24, 24},       Row{"saved", 9, 9},
                       Row{"liger", 6, 6},          Row{"ddp", 12, 12},          Row{"loops2", 20, 20},
                       Row{"recompute", 56, 56},    Row{"quantised", 34, 34},    Row{"optimizers2", 35, 35},
                       Row{"bitsandbytes", 18, 18}, Row{"variations", 124, 124}, Row{"classification", 32, 32},
                       Row{"adapters", 67, 67},     Row{"encoders", 21, 21},     Row{"fp8", 8, 8},
                       Row{"seq2seq", 16, 16},      Row{"frozen", 16, 16},       Row{"families", 32, 32}}) {
    const auto groups = validate_file(std::string(TEST_ROOT "/golden/") + r.group + ".jsonl");
    const ValidatedGroup& g = groups.front();
    // And so are the caching allocator's counters on both cards.
    for (const ValidatedGroup& card : groups) {
      CAPTURE(card.name);
      CHECK(card.exact == r.expressed);
      CHECK(card.worst == 0);
    }
    CAPTURE(r.group);
    CHECK(g.name == r.group);
    CHECK(g.cases == r.cases);
    CHECK(g.expressed == r.expressed);
    for (const ValidatedCase& c : g.rows) {
      if (!c.not_expressed.empty()) continue;
      CAPTURE(c.id);
      CHECK(c.parameters_exact);
      CHECK(c.held_exact);
      CHECK(c.exact);
      CHECK(c.worst == 0);
    }
    CHECK(within_bounds(g));
  }
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
