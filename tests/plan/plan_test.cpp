// Plans against brute force: what is answered fits, what is larger does not, and nothing better was passed over.
#include "vramplan/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "random.h"
#include "read/data.h"
#include "small_models.h"
#include "train/words.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

/// A small job on a card with a little room beside the context.
Job random_job(test::Random& random) {
  Job job;
  const auto models = test::small_models();
  do job.model = models[random() % models.size()].config;
  while (job.model.architecture == Architecture::textbook);
  job.run = test::small_run(random() % 2 ? Precision::fp32 : Precision::amp_bf16,
                            random() % 2 ? AttentionForm::eager : AttentionForm::sdpa);
  job.run = test::suited(job.model, job.run);
  job.run.seq = 16 + 16 * static_cast<std::int64_t>(random() % 3);
  job.model.positions = 256;
  if (random() % 2) job.run.checkpoint.kind = CheckpointKind::per_layer;
  job.card = card_of_size(Bytes(kGiB * 9 / 10) + Bytes(kMiB) * (24 + random() % 60));
  return job;
}

bool fits(const Job& job) { return assess(job).verdict == Verdict::fits; }

}  // namespace

TEST_CASE("the largest micro-batch and sequence fit, one more does not") {
  test::Random random(21);
  int answered = 0;
  for (int i = 0; i < 60; i += test::kThinned) {
    Job job = random_job(random);
    for (bool sequence : {false, true}) {
      PlanOptions options;
      options.multiple = sequence ? 8 : 1;
      const Plan plan = sequence ? longest_sequence(job, options) : largest_micro_batch(job, options);
      Job asked = job;
      auto& value = sequence ? asked.run.seq : asked.run.micro_batch;
      const std::int64_t step = sequence ? 8 : 1;
      if (!plan.answer) {
        value = step;
        CHECK_FALSE(fits(asked));
        continue;
      }
      ++answered;
      const TrainOptions& found = plan.candidates[*plan.answer].job.run;
      value = sequence ? found.seq : found.micro_batch;
      CAPTURE(value);
      CHECK(value % step == 0);
      CHECK(fits(asked));
      value += step;
      const bool beyond = sequence && value > longest_allowed(job).value_or(value);
      if (!beyond) CHECK_FALSE(fits(asked));
    }
  }
  CHECK(answered > 60 / test::kThinned);
}

TEST_CASE("the largest micro-batch is that of a scan over all, though what is reserved is not monotone") {
  struct Case {
    std::int64_t layers;
    std::uint64_t gib;
  };
  int holes = 0;
  for (const Case c : {Case{8, 16}, Case{12, 16}}) {
    Job job;
    ModelConfig& m = job.model;
    m.layers = c.layers, m.hidden = 1024, m.heads = m.kv_heads = 16, m.head_dim = 64, m.ffn = 4096, m.vocab = 50257;
    m.norm = NormKind::layer_norm, m.mlp = MlpKind::gelu, m.position = PositionKind::learned, m.positions = 512;
    m.qkv_bias = m.out_bias = m.mlp_bias = true;
    job.run.seq = 512;
    job.run.checkpoint.kind = CheckpointKind::segments;
    job.run.checkpoint.n = 2;
    job.card = card_of_size(Bytes(c.gib << 30));
    const Plan plan = largest_micro_batch(job, {});
    REQUIRE(plan.answer);
    const std::int64_t found = plan.candidates[*plan.answer].job.run.micro_batch;
    std::int64_t expected = 0;
    bool hole = false;
    for (std::int64_t b = 1; b < found + 30; ++b) {
      job.run.micro_batch = b;
      const bool fit = fits(job);
      holes += fit && hole;
      hole = hole || !fit;
      if (fit) expected = b;
    }
    CAPTURE(c.layers);
    CAPTURE(c.gib);
    CHECK(found == expected);
  }
  CHECK(holes > 0);  // else this shows nothing
}

TEST_CASE("the smallest card is that of a scan over all") {
  const std::vector<Card> cards = all_cards(Data("").gpus());
  for (std::int64_t b : {1, 16, 64}) {
    Job job;
    job.model = test::small_gpt2();
    job.model.hidden = 1024, job.model.heads = job.model.kv_heads = 16, job.model.head_dim = 64, job.model.ffn = 4096;
    job.model.layers = 8, job.model.vocab = 50257, job.model.positions = 1024;
    job.run = test::small_run(Precision::amp_bf16, AttentionForm::sdpa);
    job.run.micro_batch = b;
    job.run.seq = 1024;
    const Plan plan = smallest_card(job, cards, {}, {});
    REQUIRE(plan.answer.has_value());
    const Candidate& found = plan.candidates[*plan.answer];
    CHECK(found.verdict == Verdict::fits);
    for (const Card& c : cards) {
      if (c.compute_capability < 70 || c.usable >= found.job.card->usable) continue;
      Job on = job;
      on.card = c;
      on.run.device = {c.compute_capability, c.multiprocessors};
      CAPTURE(c.id);
      CHECK_FALSE(fits(on));
    }
    const Plan cheap =
        smallest_card(job, cards, {{"h200-sxm-141gb", 3.5}, {"a100-sxm4-80gb", 1.5}, {"tesla-t4", 0.2}}, {});
    REQUIRE(cheap.answer.has_value());
    for (std::size_t i = 0; i < *cheap.answer; ++i) CHECK(cheap.candidates[i].verdict != Verdict::fits);
  }
}

TEST_CASE("the least recomputation: no candidate that fits recomputes less, and the frontier is one") {
  test::Random random(5);
  for (int i = 0; i < 12; ++i) {
    const Plan plan = least_recompute(random_job(random), {});
    std::set<std::string> names;
    for (const Candidate& c : plan.candidates) CHECK(names.insert(c.what).second);
    for (const Candidate& c : plan.candidates) {
      if (plan.answer && c.verdict == Verdict::fits)
        CHECK(c.recompute_share >= plan.candidates[*plan.answer].recompute_share);
      CHECK(c.frontier == c.dominated_by.empty());
      for (const Candidate& d : plan.candidates) {
        const bool better = d.device_used <= c.device_used && d.recompute_share <= c.recompute_share &&
                            (d.device_used < c.device_used || d.recompute_share < c.recompute_share);
        if (c.frontier) CHECK_FALSE(better);
        if (d.what == c.dominated_by) CHECK((d.device_used <= c.device_used && d.recompute_share <= c.recompute_share));
      }
    }
  }
}

TEST_CASE("a sparse search agrees with a thorough one within its grain") {
  Job job;
  job.model = test::small_llama();
  job.model.layers = 40;
  job.run = test::small_run(Precision::fp32, AttentionForm::eager);
  job.run.micro_batch = 64;
  job.run.seq = 64;
  const Bytes plain = assess(job).counters.device_used;
  job.card = card_of_size(plain);
  PlanOptions sparse;
  sparse.thorough = false;
  const Plan all = least_recompute(job, {}), some = least_recompute(job, sparse);
  CHECK(some.candidates.size() < all.candidates.size() / 2);
  REQUIRE(all.answer.has_value());
  REQUIRE(some.answer.has_value());
  CHECK(some.candidates[*some.answer].recompute_share <= all.candidates[*all.answer].recompute_share + 0.02);
}

TEST_CASE("the curve of 100 layers: every N is a whole step, the root of L is 10, the best is not") {
  Job job;
  job.model = test::small_free();
  job.model.layers = 100;
  job.run = test::small_run(Precision::bf16, AttentionForm::eager);
  job.run.optimizer.kind = OptimizerKind::sgd;
  job.run.micro_batch = 16;
  const Curve c = segments_curve(job);
  CHECK(c.root == 10);
  REQUIRE(c.points.size() == 100);
  for (const CurvePoint& p : c.points) {
    CHECK(c.points[static_cast<std::size_t>(c.best - 1)].peak <= p.peak);
    Job one = job;
    one.run.checkpoint = {CheckpointKind::segments, p.segments, false};
    if (p.segments % 25 == 0) CHECK(estimate(one).peak == p.peak);
    CHECK(p.recompute_share > 0);
  }
  CHECK(c.points[0].held < c.points[99].held);
}

TEST_CASE("a plan without a card is refused") {
  Job job;
  job.model = test::small_llama();
  job.run = test::small_run();
  CHECK_THROWS_AS(largest_micro_batch(job, {}), UserError);
  CHECK_THROWS_AS(least_recompute(job, {}), UserError);
}

TEST_CASE("unequal runs are cut by bytes and are no worse than equal ones") {
  Job j;
  j.model = test::small_llama();
  j.model.layers = 24;
  j.model.hidden = 64, j.model.ffn = 192, j.model.heads = j.model.kv_heads = 4, j.model.head_dim = 16;
  j.run = test::small_run(Precision::bf16, AttentionForm::eager);
  j.run.micro_batch = 8;
  j.run.seq = 32;
  const Curve c = segments_curve(j);
  REQUIRE(c.uneven_point);
  std::int64_t layers = 0;
  for (const std::int64_t n : c.uneven.runs) layers += n;
  CHECK(layers == 24);
  const Bytes best = c.points[static_cast<std::size_t>(c.best - 1)].activation_peak;
  CHECK(c.uneven_point->activation_peak <= best);
}

TEST_CASE("cards whose usual precision the job cannot take are passed over, not an error") {
  Job job;
  job.model = test::small_llama();
  job.run = test::small_run(Precision::bf16, AttentionForm::sdpa);
  job.run.loss.form = LossForm::fused_linear;
  job.usual_precision = true;
  Card older, newer;
  older.id = "older", older.compute_capability = 75, older.nominal = older.usable = Bytes(16 * kGiB);
  newer.id = "newer", newer.compute_capability = 80, newer.nominal = newer.usable = Bytes(24 * kGiB);
  const Plan plan = smallest_card(job, {older, newer}, {}, {});
  REQUIRE(plan.answer);
  CHECK(plan.candidates.size() == 1);
  CHECK(plan.candidates[*plan.answer].what == "newer");
}
