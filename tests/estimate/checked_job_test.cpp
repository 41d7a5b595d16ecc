// No step is run of a job that was not checked, and every number of a job has its range.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "estimate/dry_run.h"
#include "read/data.h"
#include "read/model_config.h"
#include "vramplan/base/error.h"
#include "vramplan/estimate/explain.h"
#include "vramplan/estimate/timeline.h"

using namespace vramplan;

static_assert(!std::is_constructible_v<DryRun, Job>, "the engine takes a checked job only");
static_assert(!std::is_constructible_v<CheckedJob, Job>, "only the check makes a checked job");
static_assert(!std::is_default_constructible_v<CheckedJob>);

namespace {

Job short_gpt2() {
  Job j;
  j.model = read_model_config(Data().model("gpt2"), "gpt2").config;
  j.run.seq = 16;
  return j;
}

struct Change {
  const char* flag;
  std::function<void(Job&)> make;
};

}  // namespace

TEST_CASE("what the estimate refuses, every other question refuses with the same words") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Change changes[]{{"--micro-batch", [](Job& j) { j.run.micro_batch = 0; }},
                         {"--micro-batch", [](Job& j) { j.run.micro_batch = 1 << 25; }},
                         {"--seq", [](Job& j) { j.run.seq = 0; }},
                         {"--seq", [](Job& j) { j.run.seq = 4096; }},
                         {"--accumulate", [](Job& j) { j.run.accumulate = 0; }},
                         {"--target-seq", [](Job& j) { j.run.target_seq = -1; }},
                         {"--loss",
                          [](Job& j) {
                            j.run.loss = {LossForm::chunked, 0};
                          }},
                         {"--score-copies", [](Job& j) { j.run.score_copies = 9; }},
                         {"--dropout", [](Job& j) { j.model.residual_dropout = -1; }},
                         {"--dropout", [](Job& j) { j.model.attention_dropout = 1; }},
                         {"--dropout", [=](Job& j) { j.model.embedding_dropout = nan; }},
                         {"--clip", [](Job& j) { j.run.clip = -1; }},
                         {"--clip", [=](Job& j) { j.run.clip = inf; }},
                         {"--clip", [=](Job& j) { j.run.clip = nan; }},
                         {"--momentum", [](Job& j) { j.run.optimizer.momentum = -3; }},
                         {"--weight-decay", [](Job& j) { j.run.optimizer.weight_decay = -1e308; }},
                         {"--weight-decay", [=](Job& j) { j.run.optimizer.weight_decay = nan; }},
                         {"--memory-fraction", [](Job& j) { j.memory_fraction = 1.5; }},
                         {"--lora",
                          [](Job& j) {
                            j.run.lora = Lora{0, {"c_attn"}};
                          }},
                         {"--lora alpha", [=](Job& j) {
                            (j.run.lora = Lora{4, {"c_attn"}})->alpha = inf;
                          }}};
  for (const Change& c : changes) {
    Job job = short_gpt2();
    c.make(job);
    CAPTURE(c.flag);
    const std::string why = why_not_runnable(job);
    CHECK_FALSE(why.empty());
    for (const auto& ask : {std::function<void(const Job&)>([](const Job& j) { estimate(j); }),
                            std::function<void(const Job&)>([](const Job& j) { assess(j); }),
                            std::function<void(const Job&)>([](const Job& j) { timeline_of(j, 8); }),
                            std::function<void(const Job&)>([](const Job& j) { explain(j); })}) {
      try {
        ask(job);
        FAIL("answered");
      } catch (const UserError& e) {
        CHECK(e.what() == why);
        CHECK(e.where == c.flag);
        CHECK_FALSE(e.hint.empty());
      }
    }
  }
  CHECK(why_not_runnable(short_gpt2()).empty());
}

TEST_CASE("fp32 master weights have the fused form unless somebody says otherwise") {
  Optimizer adamw;
  CHECK(usual_form(adamw, Precision::bf16) == OptimizerForm::foreach);
  CHECK(usual_form(adamw, Precision::amp_bf16) == OptimizerForm::foreach);
  CHECK(usual_form(adamw, Precision::mixed_bf16) == OptimizerForm::fused);
  CHECK(usual_form(adamw, Precision::mixed_fp16) == OptimizerForm::fused);
  Optimizer adafactor;
  adafactor.kind = OptimizerKind::adafactor;
  CHECK(usual_form(adafactor, Precision::mixed_bf16) == OptimizerForm::foreach);
}
