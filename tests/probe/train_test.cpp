// The host run against its prediction: bytes, events, bits; and a comparison that can fail.
#include "probe/train.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "backend/cuda_rig.h"
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
          const bool same = !test::other_bits(m.config, r);
          CHECK((found.bitwise == Bitwise::equal) == same);
          CHECK(found.gradients > 10);
          CHECK(found.self_test == true);
          CHECK(agrees(found) == same);
          ++jobs;
        }
  CHECK(jobs >= 60);
}

TEST_CASE("without checkpointing there is nothing to compare") {
  const Probe p = probe_train(test::small_job(), {2, false});
  CHECK(p.bitwise == Bitwise::not_run);
  CHECK_FALSE(p.without_checkpointing);
  REQUIRE(p.time);
  CHECK(p.time->steps == 2);
  CHECK(p.time->lower <= p.time->median);
  CHECK(p.time->median <= p.time->upper);
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

TEST_CASE("on a card: tensors, allocator and bits are those predicted") {
  const test::StandIn driver;
  for (const test::NamedModel& m : test::small_models())
    for (const Precision p : {Precision::fp32, Precision::amp_bf16}) {
      CAPTURE(m.name);
      TrainOptions r = test::small_run(p, AttentionForm::sdpa);
      r.checkpoint = {CheckpointKind::segments, 2, false};
      const bool cublas = p == Precision::fp32;
      const Probe found = probe_train(test::small_job(m.config, r),
                                      {.steps = 1, .self_test = true, .on = ProbeOn::cuda, .cublas = cublas});
      CHECK(found.card->outside.size() >= (cublas ? 3 : 2));
      CHECK(found.backend == "cuda");
      CHECK(found.bitwise == Bitwise::equal);
      CHECK(found.self_test == true);
      CHECK(agrees(found));
      for (const ProbedPhase& phase : found.phases) {
        REQUIRE(phase.card);
        CHECK(phase.card->allocated >= phase.measured);
        CHECK(phase.card->reserved >= phase.card->allocated);
        CHECK(phase.card->device_used >= phase.card->reserved);
      }
      REQUIRE(found.card);
      CHECK(found.card->name == "Stand-in 1 GB");
    }
}

TEST_CASE("without a card the host takes over, unless one is demanded; dry computes nothing") {
  setenv("PROBE_STAND_IN_CUDA", "/nonexistent.so", 1);
  const Probe p = probe_train(test::small_job(), {.steps = 1, .on = ProbeOn::automatic});
  CHECK(p.backend == "host");
  CHECK(p.why_not_cuda.find("no CUDA driver here") == 0);
  CHECK_FALSE(p.card);
  CHECK_THROWS_AS(probe_train(test::small_job(), {.steps = 1, .on = ProbeOn::cuda}), UserError);
  const Probe dry = probe_train(test::small_job(), {.steps = 1, .on = ProbeOn::dry});
  CHECK(dry.phases.size() == p.phases.size());
  CHECK(dry.phases.back().predicted == p.phases.back().measured);
  CHECK_FALSE(dry.time);
  CHECK(dry.bitwise == Bitwise::not_run);
}

TEST_CASE("memory that runs out on a card is told with phase, tensor and bytes") {
  const test::StandIn driver;
  Job j = test::small_job();
  j.model.vocab = 40000;  // a table of 1.2 MiB wants a segment of 20
  setenv("STAND_IN_LARGEST", "2097152", 1);
  try {
    probe_train(j, {.steps = 1, .on = ProbeOn::cuda});
    FAIL("it ran");
  } catch (const UserError& e) {
    CHECK(e.status == Exit::out_of_memory);
    CHECK(std::string(e.what()).find("the card has no 1.22 MiB more: 0 B allocated, 0 B reserved") == 0);
    CHECK(e.where == "init");
  }
  setenv("STAND_IN_LARGEST", "20971520", 1);  // the weights have room, the logits have not
  j.run.seq = 32;
  j.run.micro_batch = 12;
  try {
    probe_train(j, {.steps = 1, .on = ProbeOn::cuda});
    FAIL("it ran");
  } catch (const UserError& e) {
    CHECK(e.status == Exit::out_of_memory);
    CHECK(e.where == "loss: lm_head, mm [384, 40000] of bf16");
  }
  unsetenv("STAND_IN_LARGEST");
  j.run.micro_batch = 64;
  j.run.seq = 32;
  CHECK_THROWS_WITH_AS(probe_train(j, {.steps = 1, .on = ProbeOn::cuda}), doctest::Contains("on the card and"),
                       UserError);
}
