// 8-bit linear layers: what is kept, and what cannot be asked for. Byte counts of whole steps: tests/golden/fp8.jsonl.
#include <doctest/doctest.h>

#include "backend/dry.h"
#include "model/projections.h"
#include "small_models.h"
#include "train/trainer.h"

using namespace vramplan;

namespace {

ModelConfig wide_llama() {
  ModelConfig c = test::small_llama();
  c.hidden = 64, c.head_dim = 16, c.ffn = 96;
  return c;
}

Bytes held(int capability, std::optional<Fp8Recipe> fp8) {
  const ModelConfig c = wide_llama();
  TrainOptions r = test::small_run(Precision::bf16, AttentionForm::eager);
  r.device.compute_capability = capability;
  r.fp8 = fp8;
  DryBackend backend;
  Trainer t(backend, c, r);
  t.step();
  const StepMarks second = t.step();
  return t.ledger().live(second.micro[0].backward).requested - t.ledger().live(t.ready()).requested;
}

}  // namespace

TEST_CASE("transposes of the weights are kept where a card multiplies rows with rows only") {
  const ModelConfig c = wide_llama();
  std::uint64_t weights = 0;
  for (const Projection& p : projections(c)) weights += static_cast<std::uint64_t>(p.in * p.out * c.layers);
  const Bytes hopper = held(90, Fp8Recipe::current), blackwell = held(100, Fp8Recipe::current);
  CHECK(hopper - blackwell == Bytes(weights));
  CHECK(held(120, Fp8Recipe::current) == hopper);
  CHECK(held(89, Fp8Recipe::current) == hopper);
}

TEST_CASE("inputs of the layers are kept in half the bytes") {
  // Beside the 8-bit copies of the weights and a scale for each tensor, what bf16 keeps for its products goes.
  const ModelConfig c = wide_llama();
  std::uint64_t weights = 0, scales = 0, inputs = 0;
  const std::uint64_t tokens = 2 * 8;
  for (const Projection& p : projections(c)) {
    weights += static_cast<std::uint64_t>(2 * p.in * p.out * c.layers);
    scales += static_cast<std::uint64_t>(2 * 4 * c.layers);
    inputs += tokens * static_cast<std::uint64_t>(p.in * c.layers);
  }
  // In bf16 q, k and v share an input, as gate and up do.
  const std::uint64_t shared =
      tokens * 2 * static_cast<std::uint64_t>((2 * c.hidden + c.heads * c.head_dim + c.ffn) * c.layers);
  CHECK(held(90, Fp8Recipe::current) + Bytes(shared) == held(90, {}) + Bytes(weights + scales + inputs));
}
