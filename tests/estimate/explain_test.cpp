#include "vramplan/estimate/explain.h"

#include <doctest/doctest.h>

#include "small_models.h"
#include "vramplan/base/bytes.h"

using namespace vramplan;

TEST_CASE("the two numbers of the simple formulas: L=100, h=1024, b=8, s=512, p=2") {
  CHECK(simple_activations(100, 8, 512, 1024, 2) == Bytes(838860800));
  CHECK(simple_segments(10, 8, 512, 1024, 2) == Bytes(109051904));
  CHECK(format_bytes(Bytes(838860800)) == "800.00 MiB");
  CHECK(format_bytes(Bytes(109051904)) == "104.00 MiB");
}

TEST_CASE("closed forms, hand-derived") {
  CHECK(fixed_mixed(1000) == Bytes(16000));
  CHECK(boundaries(3, 2, 5, 7, 4) == Bytes(4 * 2 * 5 * 7 * 4));
  // GPT-3's attention term: 5as/h = 80 at a 96, s 2048, h 12288 (Korthikanti et al. 2022, section 5).
  CHECK(korthikanti_layer(1, 2048, 12288, 96) == Bytes(std::uint64_t{2048} * 12288 * (34 + 80)));
  CHECK_THROWS_AS(simple_activations(INT64_MAX, 2, 1, 1, 1), Overflow);
}

TEST_CASE("the textbook row equals the program for the case it describes") {
  Job j;
  j.model = test::small_textbook(0.1);
  j.model.hidden = 64, j.model.ffn = 256, j.model.heads = j.model.kv_heads = 4, j.model.head_dim = 16;
  j.run = test::small_run(Precision::bf16);
  j.run.checkpoint = {CheckpointKind::segments, 2, false};
  const Explanation e = explain(j);
  bool seen = false;
  for (const FormulaRow& r : e.rows) {
    CHECK_FALSE(r.why.empty());
    if (r.name != "layer") continue;
    seen = true;
    CHECK(*r.found == r.value + Bytes(16 * 2 * 8));  // and 16 bytes a token for two LayerNorms' statistics
  }
  CHECK(seen);
  CHECK(e.rows.front().name == "fixed");
  CHECK(e.rows.size() == 7);
}

TEST_CASE("a third more work, and 18 to 13 samples a second is 38 % more time") {
  Job j;
  j.model = test::small_llama();
  j.run = test::small_run(Precision::bf16);
  const Explanation e = explain(j);
  REQUIRE(e.recompute.size() == 3);
  CHECK(e.recompute[0].value == doctest::Approx(1.0 / 3));
  CHECK(e.recompute[0].found > 0);
  CHECK(e.recompute[0].found < 1.0 / 3);
  CHECK(e.recompute[2].value == doctest::Approx(0.38).epsilon(0.02));
  // What the step takes longer is what recomputation takes.
  CHECK(e.recompute[1].value == doctest::Approx(e.recompute[1].found).epsilon(0.02));
  CHECK(e.recompute[2].found == doctest::Approx(e.recompute[1].found));
}
