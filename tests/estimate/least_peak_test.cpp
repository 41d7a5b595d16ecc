// A bound from two short steps is never above the peak of the whole one, for every family and way of training.
#include "estimate/least_peak.h"

#include <doctest/doctest.h>

#include "random.h"
#include "small_models.h"
#include "vramplan/base/error.h"
#include "vramplan/estimate/estimate.h"

using namespace vramplan;

namespace {

const Precision kPrecisionsTried[]{Precision::fp32, Precision::bf16, Precision::fp16, Precision::amp_bf16,
                                   Precision::mixed_bf16};
const Checkpointing kCheckpoints[]{{},
                                   {CheckpointKind::per_layer},
                                   {CheckpointKind::selective, 0, false, {false, false, true, true}, false},
                                   {CheckpointKind::segments, 3},
                                   {CheckpointKind::every, 2},
                                   {CheckpointKind::first, 2}};

Job random_job(test::Random& random) {
  Job j;
  const auto models = test::small_models();
  j.model = models[random() % models.size()].config;
  j.run = test::small_run(kPrecisionsTried[random() % 5]);
  j.run.micro_batch = 1 + random() % 3;
  j.run.seq = 2 + random() % 30;
  j.run.accumulate = 1 + random() % 3;
  j.run.checkpoint = kCheckpoints[random() % 6];
  j.run.keeps_output = random() % 5 == 0;
  Optimizer& o = j.run.optimizer;
  o.form = static_cast<OptimizerForm>(random() % 3);
  switch (random() % 10) {
    case 0: j.run.lora = Lora{4, {"all-linear"}}; break;
    case 1: j.run.lora = Lora{4}, j.run.quant = Quantisation{QuantKind::nf4}; break;
    case 2: o = {}, o.states = StateStorage::blockwise; break;
    case 3: o = {}, o.kind = OptimizerKind::muon; break;
    case 4: o.in_backward = true, j.run.accumulate = 1; break;
    case 5: o = {}, o.on_host = true; break;
    case 6: o = {}, o.kind = OptimizerKind::adafactor, o.form = OptimizerForm::foreach; break;
    case 7: j.run.loss.form = LossForm::chunked, j.run.loss.chunks = 2; break;
    case 8: j.run.clip = true; break;
    default: break;
  }
  j.run = test::suited(j.model, j.run);
  j.model.layers = 5 + random() % 14;
  return j;
}

}  // namespace

TEST_CASE("no step needs less than its bound, and most need little more") {
  test::Random random(7);
  int checked = 0, by_layer = 0, close = 0;
  for (int i = 0; i < 1500; i += test::kThinned) {
    const Job job = random_job(random);
    Estimate whole;
    std::optional<Bytes> least;
    try {
      whole = assess(job);
      least = least_peak(job);
    } catch (const UserError&) {
      continue;
    }
    if (!least) continue;
    CAPTURE(i);
    CAPTURE(job.model.name);
    CAPTURE(job.model.layers);
    CAPTURE(static_cast<int>(job.run.checkpoint.kind));
    CAPTURE(static_cast<int>(job.run.optimizer.kind));
    CHECK(*least <= whole.peak);
    ++checked;
    if (job.run.checkpoint.kind == CheckpointKind::segments || job.run.checkpoint.kind == CheckpointKind::every ||
        job.run.checkpoint.kind == CheckpointKind::first)
      continue;  // by states alone
    ++by_layer;
    close += 10 * least->count() >= 9 * whole.peak.count();
  }
  CHECK(checked > 500 / test::kThinned);
  CHECK(2 * close > by_layer);
}
