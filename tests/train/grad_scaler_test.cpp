// What torch.amp.GradScaler takes and gives back, in its order: the fused step as PyTorch 2.15's memory history has it,
// the other as its source (torch/amp/grad_scaler.py).
#include "train/grad_scaler.h"

#include <doctest/doctest.h>

#include "backend/dry.h"
#include "small_models.h"
#include "train/trainer.h"

using namespace vramplan;

namespace {

/// Bytes taken (above 0) and given back (below) from an instant on, so many.
std::vector<std::int64_t> moves(const Ledger& ledger, Ledger::Instant from, std::size_t n) {
  std::vector<std::int64_t> out;
  for (Ledger::Instant i = from; out.size() < n; ++i) {
    const Event& e = ledger.events()[i];
    if (e.kind != Event::Kind::allocate && e.kind != Event::Kind::release) continue;
    const auto bytes = static_cast<std::int64_t>(ledger.record(e.record).bytes.count());
    out.push_back(e.kind == Event::Kind::allocate ? bytes : -bytes);
  }
  return out;
}

TrainOptions scaled(OptimizerForm form) {
  TrainOptions r = test::small_run(Precision::amp_fp16);
  r.optimizer.form = form;
  r.grad_scaler = true;
  return r;
}

/// The first moves of the second step's optimizer.
std::vector<std::int64_t> moves_of_step(OptimizerForm form, std::size_t n) {
  DryBackend backend;
  const ModelConfig c = test::small_llama();
  Trainer t(backend, c, scaled(form));
  t.step();
  const StepMarks second = t.step();
  return moves(t.ledger(), second.step, n);
}

}  // namespace

TEST_CASE("a fused step: a scale of one and what is found, both copied; then a sum and the scale for the kernel") {
  CHECK(moves_of_step(OptimizerForm::fused, 9) == std::vector<std::int64_t>{4, 4, 4, 4, -4, -4, -4, 4, 4});
}

TEST_CASE("any other step: the inverse by way of fp64") {
  CHECK(moves_of_step(OptimizerForm::foreach, 11) == std::vector<std::int64_t>{8, 8, -8, 4, -8, 4, 4, 4, -4, -4, -4});
}

TEST_CASE("between steps two numbers stay") {
  const ModelConfig c = test::small_llama();
  std::int64_t live[2];
  for (const bool with : {false, true}) {
    DryBackend backend;
    TrainOptions r = scaled(OptimizerForm::foreach);
    r.grad_scaler = with;
    Trainer t(backend, c, r);
    t.step();
    live[with] = static_cast<std::int64_t>(t.ledger().live(t.step().end).rounded.count());
  }
  CHECK(live[1] - live[0] == 2 * 512);
}
