#include "base/suggest.h"

#include <doctest/doctest.h>

using namespace vramplan;

TEST_CASE("edit distance counts slips, a swap as one") {
  CHECK(edit_distance("llama", "llama") == 0);
  CHECK(edit_distance("lama", "llama") == 1);
  CHECK(edit_distance("lalma", "llama") == 1);
  CHECK(edit_distance("GPT2", "gpt2") == 0);
  CHECK(edit_distance("", "abc") == 3);
}

TEST_CASE("the nearest name is offered, a far one is not") {
  const std::vector<std::string> names{"estimate", "explain", "validate"};
  CHECK(closest("estimte", names) == "estimate");
  CHECK(closest("frobnicate", names).empty());
  CHECK(did_you_mean("explian", names, "x") == "did you mean 'explain'?");
  CHECK(did_you_mean("zzzz", names, "see --help") == "see --help");
}
