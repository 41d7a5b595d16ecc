// Whole steps on the cuda backend: the ledger of the dry run event by event, the host's gradients within its tolerance,
// and not a bit changed by recomputation.
#include <doctest/doctest.h>

#include "allocator/replay.h"
#include "backend/dry.h"
#include "cuda_rig.h"
#include "small_models.h"
#include "train/trainer.h"
#include "train/words.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

/// Gradients of one pass, parameter by parameter.
std::vector<std::vector<float>> gradients(Trainer& t, const CudaDriver* driver) {
  t.forward_backward();
  std::vector<std::vector<float>> all;
  for (const Parameter& p : t.weights().trainable)
    all.push_back(p.tensor->grad ? test::numbers_of(Tensor(p.tensor->grad), driver) : std::vector<float>());
  return all;
}

/// Of all parameters together: a single one may be nothing but rounding.
double error_of_all(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& wanted) {
  std::vector<float> a, b;
  for (const auto& g : got) a.insert(a.end(), g.begin(), g.end());
  for (const auto& w : wanted) b.insert(b.end(), w.begin(), w.end());
  return test::relative_error(a, b);
}

std::uint64_t sum_of_gradients(Backend& on, Trainer& t) {
  std::uint64_t sum = 0;
  t.forward_backward();
  for (const Parameter& p : t.weights().trainable)
    if (p.tensor->grad) sum = sum * 31 + on.checksum(Tensor(p.tensor->grad));
  return sum;
}

}  // namespace

TEST_CASE("every small model: ledger of the dry run, gradients of the host, bits of the step without checkpointing") {
  test::Card card;
  for (const test::NamedModel& m : test::small_models()) {
#ifdef VRAMPLAN_SANITIZED  // it sees nothing of the emulated kernels, where the time goes
    if (m.name != "gpt2 with dropout" && m.name != "qwen2") continue;
#endif
    for (AttentionForm a : {AttentionForm::eager, AttentionForm::sdpa})
      for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16}) {
        CAPTURE(m.name);
        CAPTURE(static_cast<int>(a));
        CAPTURE(static_cast<int>(p));
        TrainOptions r = test::small_run(p, a);
        CudaBackend cuda(card.driver, {});
        HostBackend host;
        DryBackend dry;
        Trainer plain(cuda, m.config, r), on_host(host, m.config, r), predicted(dry, m.config, r);
        CHECK(error_of_all(gradients(plain, &card.driver), gradients(on_host, nullptr)) <=
              (p == Precision::fp32 ? 1e-4 : 2e-2));
        predicted.forward_backward();
        plain.step(), predicted.step();
        CHECK(plain.ledger().now() == predicted.ledger().now());
        CHECK(same_events(plain.ledger(), predicted.ledger(), predicted.ledger().now()));
        const std::uint64_t without = sum_of_gradients(cuda, plain);
        r.checkpoint = {CheckpointKind::segments, 2, false};
        Trainer recomputed(cuda, m.config, r);
        recomputed.forward_backward();
        recomputed.step();
        CHECK(sum_of_gradients(cuda, recomputed) == without);
      }
  }
}

TEST_CASE("every optimizer steps as on the host") {
  test::Card card;
  for (const Word<OptimizerWord>& w : kOptimizers)
    for (Precision p : {Precision::fp32, Precision::bf16}) {
      CAPTURE(w.name);
      TrainOptions r = test::small_run(p);
      REQUIRE(read_optimizer_word(r.optimizer, w.name));
      r.clip = 0.5;
      const ModelConfig c = test::small_llama();
      CudaBackend cuda(card.driver, {});
      HostBackend host;
      Trainer on_card(cuda, c, r), on_host(host, c, r);
      on_card.step(), on_host.step();
      std::vector<float> got, wanted;
      for (std::size_t i = 0; i < on_host.weights().trainable.size(); ++i) {
        const auto x = test::numbers_of(on_card.weights().trainable[i].tensor, &card.driver),
                   y = test::numbers_of(on_host.weights().trainable[i].tensor, nullptr);
        got.insert(got.end(), x.begin(), x.end());
        wanted.insert(wanted.end(), y.begin(), y.end());
      }
      CHECK(test::relative_error(got, wanted) <= (p == Precision::fp32 ? 2e-4 : 2e-2));
    }
}

TEST_CASE("the card's allocator reserves what its simulation does") {
  test::Card card;
  for (const test::NamedModel& m : test::small_models()) {
    CAPTURE(m.name);
    const TrainOptions r = test::small_run();
    CudaBackend cuda(card.driver, {});
    Trainer t(cuda, m.config, r);
    t.step(), t.step();
    Replay replay(t.ledger(), {}, KernelMemory());
    CHECK(replay.run(t.ledger().now()));
    CHECK(replay.peaks().allocated == cuda.memory().allocator().peak_allocated());
    CHECK(replay.peaks().reserved == cuda.memory().allocator().peak_reserved());
    CHECK(replay.layout().size() == cuda.memory().allocator().layout().size());
  }
}

TEST_CASE("a card that is full says so, and takes all back") {
  test::Card card;
  const Bytes before = card.driver.memory().free;
  {
    CudaBackend cuda(card.driver, {});
    std::byte* first = cuda.allocate(Bytes(300u << 20));
    std::byte* second = cuda.allocate(Bytes(20u << 20));
    CHECK_THROWS_WITH_AS(cuda.allocate(Bytes(900u << 20)), doctest::Contains("320.00 MiB allocated"), UserError);
    cuda.release(first, {});
    cuda.release(second, {});
    // What is cached goes back to the driver when another size is asked for.
    std::byte* larger = cuda.allocate(Bytes(600u << 20));
    CHECK(larger != nullptr);
    CHECK(cuda.memory().allocator().retries() == 2);
    cuda.release(larger, {});
  }
  CHECK(before.count() - card.driver.memory().free.count() <= (310u << 20));  // the context and module stay
  CHECK_THROWS_AS(CudaBackend(card.driver, {parse_alloc_conf("expandable_segments:True"), nullptr, {}}), UserError);
}
