// Composed from short runs against the whole step, to the byte.
#include "plan/composed.h"

#include <doctest/doctest.h>

#include "random.h"
#include "small_models.h"
#include "vramplan/base/error.h"
#include "vramplan/estimate/estimate.h"

#include "estimate/dry_run.h"

using namespace vramplan;

namespace {

const Precision kPrecisions[]{Precision::fp32, Precision::bf16, Precision::fp16, Precision::amp_bf16,
                              Precision::mixed_bf16};
const AttentionForm kAttentions[]{AttentionForm::eager, AttentionForm::sdpa, AttentionForm::math};

Job random_composed_job(test::Random& random) {
  Job j;
  const auto models = test::small_models();
  do j.model = models[random() % models.size()].config;
  while (!why_not_composable(j).empty());
  j.run = test::small_run(kPrecisions[random() % 5], kAttentions[random() % 3]);
  j.run.micro_batch = 1 + random() % 4;
  j.run.seq = 2 + random() % 30;
  j.run.accumulate = 1 + random() % 3;
  j.run.checkpoint.reentrant = random() % 3 == 0;
  Optimizer& o = j.run.optimizer;
  o.form = static_cast<OptimizerForm>(random() % 3);
  if (random() % 4 == 0) o.kind = OptimizerKind::sgd, o.momentum = 0.9;
  if (random() % 6 == 0) o.kind = OptimizerKind::adafactor, o.form = OptimizerForm::foreach;
  j.run.zero_in_place = random() % 5 == 0;
  j.run.keeps_output = random() % 5 == 0;
  switch (random() % 14) {
    case 0: j.run.lora = Lora{4, {"all-linear"}, 0.1, random() % 2 == 0}; break;
    case 1: j.run.lora = Lora{4}, j.run.quant = Quantisation{QuantKind::nf4, true, random() % 2 == 0}; break;
    case 2: j.run.lora = Lora{2}, j.run.quant = Quantisation{QuantKind::int8}; break;
    case 3: o = {}, o.states = StateStorage::blockwise; break;
    case 4: o = {}, o.kind = OptimizerKind::muon; break;
    case 5: o.in_backward = true; break;
    case 6: o = {}, o.on_host = true; break;
    case 7: j.run.ema = true; break;
    case 8: j.run.evaluate = true; break;
    case 9: j.run.loss.form = static_cast<LossForm>(random() % 6), j.run.loss.chunks = 2; break;
    case 10: j.run.fp32_gradients = has_master_weights(j.run.precision); break;
    case 11: j.run.checkpoint.on_host = true, j.run.checkpoint.reentrant = false; break;
    case 12:
      if (j.model.architecture == Architecture::textbook || j.model.encoder()) break;
      j.run.loss.form = LossForm::classification, j.model = classifier(j.model, 3);
      break;
    default: break;
  }
  j.run = test::suited(j.model, j.run);
  return j;
}

}  // namespace

TEST_CASE("composed equals run, for thousands of random jobs") {
  test::Random random(2026);
  int checked = 0;
  for (int i = 0; i < 420; i += test::kThinned) {
    Job job = random_composed_job(random);
    try {
      (void)check_job(job);
    } catch (const UserError&) {
      continue;
    }
    if (!why_not_composable(job).empty()) continue;
    Composition composition(job);
    for (int k = 0; k < 8; ++k) {
      const std::int64_t layers = 1 + random() % 14, segments = random() % (layers + 1);
      Job whole = job;
      whole.model.layers = layers;
      whole.run.checkpoint =
          segments == 0
              ? Checkpointing{}
              : Checkpointing{
                    CheckpointKind::segments, segments, job.run.checkpoint.reentrant, {}, job.run.checkpoint.on_host};
      const DryRun run(check_job(whole));
      const Tally expected = run.peak().tally;
      const Composition::Peaks found = composition.peaks(layers, segments);
      CAPTURE(i);
      CAPTURE(job.model.name);
      CAPTURE(layers);
      CAPTURE(segments);
      CAPTURE(static_cast<int>(job.run.optimizer.kind));
      CAPTURE(static_cast<int>(job.run.optimizer.form));
      CAPTURE(static_cast<int>(job.run.precision));
      CHECK(found.requested == expected.requested);
      CHECK(found.rounded == expected.rounded);
      ++checked;
    }
  }
  CHECK(checked > 2000 / test::kThinned);
}
