// The roofline against published times. What it cannot be held against is listed in docs/accuracy.md.
#include <doctest/doctest.h>

#include "checked.h"
#include "read/data.h"
#include "read/model_config.h"
#include "vramplan/estimate/estimate.h"

using namespace vramplan;

namespace {

Job a100(const ModelConfig& model, std::int64_t micro_batch, std::int64_t seq, Precision precision) {
  Job j;
  j.model = model;
  j.run.micro_batch = micro_batch;
  j.run.seq = seq;
  j.run.precision = precision;
  j.card = find_card(Data().gpus(), "a100-80gb");
  return j;
}

/// What recomputation adds to the time of `layers` more layers than one, forward and backward.
double overhead_of_a_layer(Job job, const Checkpointing& how) {
  auto seconds = [&](std::int64_t layers, bool recompute) {
    Job j = job;
    j.model.layers = layers;
    if (recompute) j.run.checkpoint = how;
    const StepTime t = *assess(j).time;
    return recompute ? t.recompute : t.forward + t.backward;
  };
  return (seconds(3, true) - seconds(2, true)) / (seconds(3, false) - seconds(2, false));
}

/// One GPU's part of a layer of the 22B model under tensor parallelism of 8: 8 of 64 heads, an eighth of the MLP
/// (Korthikanti et al. 2022, section 6.2).
Job layer_of_22b() {
  ModelConfig c;
  c.name = "22B / 8";
  c.architecture = Architecture::llama;
  c.layers = 2;
  c.hidden = 6144;
  c.heads = c.kv_heads = 8;
  c.head_dim = 96;
  c.ffn = 24576 / 8;
  c.vocab = 6400;
  c.positions = 2048;
  c.norm = NormKind::layer_norm;
  c.mlp = MlpKind::gelu;
  c.position = PositionKind::learned;
  c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.1;
  Job j = a100(c, 4, 2048, Precision::fp16);
  j.run.attention = AttentionForm::eager;
  return j;
}

double overhead_of_a_step(const Job& job, const Checkpointing& how) {
  Job with = job;
  with.run.checkpoint = how;
  return assess(with).time->total() / assess(job).time->total() - 1;
}

}  // namespace

TEST_CASE("recomputation costs what was published, within 5 points of a percent") {
  const Checkpointing per_layer{CheckpointKind::per_layer, 0, false};
  // Korthikanti et al. 2022, table of one layer: 19.6 ms, full recomputation 27.2 (+39 %), selective 20.9 (+7 %).
  CHECK(overhead_of_a_layer(layer_of_22b(), per_layer) == doctest::Approx(0.39).epsilon(0.05 / 0.39));
  Checkpointing core{CheckpointKind::selective, 0, false};
  core.parts.attention = true;
  CHECK(std::abs(overhead_of_a_layer(layer_of_22b(), core) - 0.07) < 0.05);
  // torchtune's README, Llama 3.2 3B on one A100, micro-batch 2 x 4096, bf16, loss in chunks: 9174 to 7210 tokens/s.
  const Data data;
  Job torchtune = a100(read_model_config(data.model("llama-3.2-3b"), "llama-3.2-3b").config, 2, 4096, Precision::bf16);
  torchtune.run.loss = {LossForm::chunked, 8};
  torchtune.run.optimizer.form = OptimizerForm::fused;
  CHECK(std::abs(overhead_of_a_step(torchtune, per_layer) - (9174.0 / 7210 - 1)) < 0.05);
  // NeMo's guide: about 30 % more computation for a transformer layer.
  CHECK(std::abs(overhead_of_a_layer(torchtune, per_layer) - 0.30) < 0.05);
}

TEST_CASE("a layer's forward pass takes the time that was published") {
  auto forward = [](std::int64_t layers) {
    Job j = layer_of_22b();
    j.model.layers = layers;
    return assess(j).time->forward;
  };
  CHECK(std::abs((forward(3) - forward(2)) / 7.7e-3 - 1) < 0.1);  // 7.7 ms, all-reduces included
}

TEST_CASE("times follow the rates of the card, and are not given where they are unknown") {
  Job j = test::small_job();
  REQUIRE(assess(j).time);
  CHECK(assess(j).time->card == "NVIDIA A100 SXM4 80GB");
  j = a100(test::small_llama(), 64, 32, Precision::bf16);
  j.calibration.efficiency.launch_us = 0;
  const double before = assess(j).time->total();
  j.card->bandwidth_gbs *= 2;
  for (double* rate : {&j.card->tflops.fp32, &j.card->tflops.bf16}) *rate *= 2;
  CHECK(assess(j).time->total() == doctest::Approx(before / 2));
  j.card->bandwidth_gbs = 0;
  CHECK_FALSE(assess(j).time);
  j = test::small_job();
  j.run.optimizer.on_host = true;
  CHECK_FALSE(assess(j).time);
}

TEST_CASE("accumulation repeats all but the optimizer step") {
  Job j = a100(test::small_llama(), 2, 32, Precision::bf16);
  const StepTime one = *assess(j).time;
  j.run.accumulate = 50;
  const StepTime many = *assess(j).time;
  CHECK(many.forward == doctest::Approx(50 * one.forward));
  CHECK(many.optimizer == doctest::Approx(one.optimizer));
}
