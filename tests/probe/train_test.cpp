// The host run against its prediction: bytes, events, bits; and a comparison that can fail.
#include "probe/train.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimate/checked.h"
#include "small_models.h"
#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("sixty small jobs: predicted is booked is measured, and recomputation changes no bit") {
  int jobs = 0;
  for (const test::NamedModel& m : test::small_models())
    for (AttentionForm a : {AttentionForm::eager, AttentionForm::sdpa})
      for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16})
        for (const std::int64_t n : {2, 4}) {
          if ((jobs + n) % 3 == 0 && jobs > 60) continue;
          CAPTURE(m.name);
          CAPTURE(static_cast<int>(a));
          CAPTURE(static_cast<int>(p));
          CAPTURE(n);
          TrainOptions r = test::small_run(p, a);
          r.checkpoint = {CheckpointKind::segments, n, n == 4};
          const Probe found = probe_train(test::small_job(m.config, r), {1, true});
          for (const ProbedPhase& phase : found.phases) {
            CHECK(phase.predicted == phase.ledger);
            CHECK(phase.ledger == phase.measured);
          }
          CHECK(found.phases.size() >= 4);
          CHECK(found.same_events);
          CHECK(found.bitwise == Bitwise::equal);
          CHECK(found.gradients > 10);
          CHECK(found.self_test == true);
          CHECK(agrees(found));
          ++jobs;
        }
  CHECK(jobs >= 60);
}

TEST_CASE("without checkpointing there is nothing to compare") {
  const Probe p = probe_train(test::small_job(), {2, false});
  CHECK(p.bitwise == Bitwise::not_run);
  CHECK_FALSE(p.without_checkpointing);
  CHECK(p.time.steps == 2);
  CHECK(p.time.lower <= p.time.median);
  CHECK(p.time.median <= p.time.upper);
}

TEST_CASE("what cannot be run is refused with numbers") {
  Job j = test::small_job();
  j.model.vocab = 1 << 30;
  j.model.hidden = 1 << 14, j.model.heads = j.model.kv_heads = 1 << 7, j.model.head_dim = 1 << 7;
  CHECK_THROWS_AS(probe_train(j, {}), UserError);
  j = test::small_job();
  j.run.optimizer.on_host = true;
  CHECK_THROWS_AS(probe_train(j, {}), UserError);
}
