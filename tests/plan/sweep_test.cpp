// A sweep keeps its order on any number of threads, filters, sorts and stops where it is told.
#include "plan/sweep.h"

#include "plan/sieve.h"

#include <doctest/doctest.h>

#include "small_models.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

SweepTable table_of(std::int64_t rows) {
  SweepTable t;
  t.flags = {"micro-batch"};
  for (std::int64_t i = 1; i <= rows; ++i) {
    t.rows.emplace_back();
    t.rows.back().values = {std::to_string(i)};
  }
  return t;
}

Job job_of(const std::vector<std::string>& values) {
  Job j;
  j.model = test::small_llama();
  j.run = test::small_run(Precision::bf16);
  j.run.micro_batch = std::stoll(values[0]);
  j.card = card_of_size(Bytes(kMiB * 620));
  if (j.run.micro_batch % 7 == 0) throw UserError("sevens are no jobs");
  return j;
}

}  // namespace

TEST_CASE("the same rows on one thread and on eight, refused ones with their reason") {
  SweepTable one = table_of(600), eight = table_of(600);
  fill(one, {job_of, false, 1, nullptr, {}});
  fill(eight, {job_of, false, 8, nullptr, {}});
  REQUIRE(one.rows.size() == 600);
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    CHECK(one.rows[i].counters.device_used == eight.rows[i].counters.device_used);
    CHECK(one.rows[i].values[0] == std::to_string(i + 1));
    CHECK(one.rows[i].error == ((i + 1) % 7 == 0 ? "sevens are no jobs" : ""));
  }
}

TEST_CASE("a sweep that is stopped keeps whole rows, in order, from the start") {
  std::atomic<bool> stop{false};
  std::atomic<int> asked{0};
  SweepTable t = table_of(5000);
  fill(t, {[&](const std::vector<std::string>& v) {
             if (++asked == 700) stop = true;
             return job_of(v);
           },
           false,
           2,
           &stop,
           {}});
  CHECK_FALSE(t.complete);
  CHECK(t.rows.size() >= 512);
  CHECK(t.rows.size() < 800);
  for (std::size_t i = 0; i < t.rows.size(); ++i)
    CHECK((t.rows[i].counters.device_used > Bytes()) == t.rows[i].error.empty());
}

TEST_CASE("where, sort, and what they refuse") {
  SweepTable t = table_of(100);
  fill(t, {job_of, false, 0, nullptr, {}});
  SweepTable sorted = t;
  sort_by(sorted, "margin");
  CHECK(sorted.rows[0].values[0] == "1");
  CHECK_FALSE(sorted.rows.back().error.empty());
  sort_by(sorted, "micro-batch");
  CHECK(sorted.rows[1].values[0] == "2");
  sort_by(sorted, "tokens/s");
  CHECK(sorted.rows[0].tokens_a_second >= sorted.rows[1].tokens_a_second);
  SweepTable fitting = t;
  keep_where(fitting, "fits,tight");
  for (const SweepRow& r : fitting.rows) CHECK(r.margin >= 0);
  CHECK(fitting.rows.size() < 86);
  CHECK_THROWS_AS(sort_by(t, "margins"), UserError);
  CHECK_THROWS_AS(keep_where(t, "fit"), UserError);
}

TEST_CASE("the sieve takes nothing that fits, and most of what does not") {
  Sieve sieve(1, 1);
  int taken = 0, missed = 0;
  for (std::int64_t mib : {500, 620, 640, 660, 680, 720})
    for (const Checkpointing& how :
         {Checkpointing{}, Checkpointing{CheckpointKind::per_layer, 0, false},
          Checkpointing{CheckpointKind::segments, 2, false}, Checkpointing{CheckpointKind::first, 2, false}})
      for (std::int64_t b : {1, 40, 400, 4000}) {
        Job j;
        j.model = test::small_llama();
        j.run = test::small_run(Precision::bf16, AttentionForm::eager);
        j.run.micro_batch = b;
        j.run.checkpoint = how;
        j.card = card_of_size(Bytes(static_cast<std::uint64_t>(mib)) * kMiB);
        const bool fits = assess(j).verdict != Verdict::does_not_fit;
        if (sieve.too_large(j)) {
          CHECK_FALSE(fits);
          ++taken;
        } else {
          missed += !fits;
        }
      }
  CHECK(taken > 10);
  MESSAGE(taken, " taken, ", missed, " that had to be run");
}

TEST_CASE("only rows that fit are wanted: the same rows as without the sieve") {
  SweepTable all = table_of(300), sifted = table_of(300);
  fill(all, {job_of, false, 0, nullptr, {}});
  fill(sifted, {job_of, true, 0, nullptr, {}});
  keep_where(all, "fits,tight");
  keep_where(sifted, "fits,tight");
  REQUIRE(all.rows.size() == sifted.rows.size());
  for (std::size_t i = 0; i < all.rows.size(); ++i) CHECK(all.rows[i].values == sifted.rows[i].values);
}
