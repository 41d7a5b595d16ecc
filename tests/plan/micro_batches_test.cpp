// Peaks between micro-batches against whole steps, to the byte.
#include "plan/micro_batches.h"

#include <doctest/doctest.h>

#include "estimate/dry_run.h"
#include "random.h"
#include "read/data.h"
#include "read/model_config.h"
#include "small_models.h"
#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("peaks of a range of micro-batches are those of the steps") {
  test::Random random(77);
  const Precision precisions[]{Precision::fp32, Precision::bf16, Precision::amp_bf16, Precision::mixed_bf16};
  const AttentionForm attentions[]{AttentionForm::eager, AttentionForm::sdpa, AttentionForm::math};
  std::size_t asked = 0, composed = 0;
  for (int i = 0; i < 120; ++i) {
    Job job;
    const auto models = test::small_models();
    job.model = models[random() % models.size()].config;
    job.run = test::suited(job.model, test::small_run(precisions[random() % 4], attentions[random() % 3]));
    job.run.seq = 2 + random() % 30;
    job.run.accumulate = 1 + random() % 2;
    const std::int64_t layers = 1 + random() % 8, segments = random() % (layers + 1), to = 6 + random() % 40;
    try {
      job.model.layers = layers;
      (void)check_job(job);
      if (!why_not_composable(job).empty()) continue;
    } catch (const UserError&) {
      continue;
    }
    MicroBatches found(job, 1, to);
    for (std::int64_t b = 1; b <= to; b += 1 + random() % 3, ++asked) {
      Job whole = job;
      whole.run.micro_batch = b;
      whole.run.checkpoint =
          segments ? Checkpointing{CheckpointKind::segments, segments, job.run.checkpoint.reentrant} : Checkpointing{};
      const Tally expected = DryRun(check_job(whole)).peak().tally;
      CAPTURE(job.model.name);
      CAPTURE(job.run.seq);
      CAPTURE(b);
      CAPTURE(layers);
      CAPTURE(segments);
      CHECK(found.peak(layers, segments, b) == expected.requested);
    }
    composed += found.composed();
  }
  CHECK(asked > 1000);
  CHECK(composed < asked);  // though small models with few sequences bend often
}

TEST_CASE("a model of real size needs a few of many") {
  Job job;
  job.model = read_model_config(Data().model("gpt2"), "gpt2").config;
  job.run.seq = 512;
  MicroBatches found(job, 1, 200);
  for (std::int64_t b = 1; b <= 200; ++b) {
    const Bytes between = found.peak(12, 4, b);
    if (b % 67) continue;
    job.run.micro_batch = b;
    job.run.checkpoint = {CheckpointKind::segments, 4};
    CHECK(between == DryRun(check_job(job)).peak().tally.requested);
  }
  CHECK(found.composed() < 20);
}
