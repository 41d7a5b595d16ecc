// Recomputation changes no bit of any gradient, whatever is recomputed and how; and a recomputation that draws other
// random numbers does change them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/host.h"
#include "small_models.h"
#include "tape/activation.h"
#include "tape/checkpoint.h"
#include "tape/elementwise.h"
#include "train/trainer.h"

using namespace vramplan;

namespace {

std::vector<std::byte> gradients(const ModelConfig& c, const TrainOptions& r) {
  HostBackend backend;
  Trainer trainer(backend, c, r);
  trainer.forward_backward();
  std::vector<std::byte> bytes;
  for (const Parameter& p : trainer.weights().trainable) {
    REQUIRE(p.tensor->grad);
    const Storage& s = *p.tensor->grad->storage;
    bytes.insert(bytes.end(), s.data, s.data + s.bytes.count());
  }
  return bytes;
}

}  // namespace

TEST_CASE("gradients are bitwise equal for every N and both variants") {
  for (const test::NamedModel& m : test::small_models())
    for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16})
      for (AttentionForm a : {AttentionForm::eager, AttentionForm::sdpa}) {
        TrainOptions r = test::small_run(p, a);
        const auto plain = gradients(m.config, r);
        bool any = false;
        for (std::byte x : plain) any = any || x != std::byte{0};
        CHECK(any);
        for (bool reentrant : {false, true}) {
          r.checkpoint.reentrant = reentrant;
          if (test::other_bits(m.config, r)) continue;
          for (std::int64_t n = 1; n <= m.config.layers; ++n) {
            CAPTURE(m.name);
            CAPTURE(n);
            CAPTURE(reentrant);
            r.checkpoint = {CheckpointKind::segments, n, reentrant};
            CHECK(gradients(m.config, r) == plain);
          }
          r.checkpoint = {CheckpointKind::per_layer, 0, reentrant};
          CHECK(gradients(m.config, r) == plain);
          r.checkpoint = {CheckpointKind::sequential, 3, reentrant};
          CHECK(gradients(m.config, r) == plain);
        }
      }
}

TEST_CASE("a reentrant decoder's gradients differ in their last bits at most") {
  auto numbers = [](const std::vector<std::byte>& bytes) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  for (double drop : {0.0, 0.25}) {
    TrainOptions r = test::small_run(Precision::fp32);
    r.target_seq = 5;
    const auto plain = numbers(gradients(test::small_bart(drop), r));
    float largest = 0;
    for (float x : plain) largest = std::max(largest, std::abs(x));
    for (std::int64_t n : {1, 3, 4}) {
      r.checkpoint = {CheckpointKind::segments, n, true};
      const auto again = numbers(gradients(test::small_bart(drop), r));
      REQUIRE(again.size() == plain.size());
      float worst = 0;
      for (std::size_t i = 0; i < plain.size(); ++i) worst = std::max(worst, std::abs(again[i] - plain[i]));
      CHECK(worst < 1e-6F * largest);
    }
  }
}

TEST_CASE("gradients of adapters on a frozen model are bitwise equal too") {
  for (bool wide : {false, true}) {
    TrainOptions r = test::small_run(Precision::bf16);
    r.lora = Lora{3, {"all-linear"}, 0.25, wide};
    const auto plain = gradients(test::small_llama(), r);
    for (bool reentrant : {false, true}) {
      r.checkpoint = {CheckpointKind::segments, 2, reentrant};
      CHECK(gradients(test::small_llama(), r) == plain);
    }
  }
}

TEST_CASE("negative control: other random numbers in the recomputation, other gradients") {
  auto gradient = [](bool disturb, Recompute variant) {
    HostBackend backend;
    Ledger ledger;
    Memory memory(backend, ledger);
    Tape t(memory);
    Tensor x = memory.empty({64}, DType::fp32, "x");
    backend.arange(x, 1);
    x->requires_grad = true;
    int runs = 0;
    const Segment segment = [&](const Tensor& h, const Arguments&) {
      if (++runs == 2 && disturb) ++t.random_calls;
      return dropout(t, silu(t, dropout(t, h, 0.5)), 0.5);
    };
    const Tensor y = checkpoint(t, variant, segment, x);
    t.backward(mean_all(t, y));
    CHECK(runs == 2);
    const float* g = Tensor(x->grad).data<float>();
    return std::vector<float>(g, g + 64);
  };
  for (Recompute v : {Recompute::non_reentrant, Recompute::reentrant}) {
    CHECK(gradient(false, v) == gradient(false, v));
    CHECK(gradient(true, v) != gradient(false, v));
  }
}

TEST_CASE(
    "a leaf takes the gradient of either checkpoint without a copy, as the events of PyTorch's CUDA allocator show") {
  for (Recompute v : {Recompute::non_reentrant, Recompute::reentrant}) {
    HostBackend backend;
    Ledger ledger;
    Memory memory(backend, ledger);
    Tape t(memory);
    Tensor x = memory.empty({64}, DType::fp32, "x");
    backend.arange(x, 1);
    x->requires_grad = true;
    t.backward(mean_all(t, checkpoint(
                               t, v, [&](const Tensor& h, const Arguments&) { return silu(t, h); }, x)));
    REQUIRE(x->grad);
    for (const Event& e : ledger.events()) CHECK(std::string(ledger.record(e.record).op) != "clone");
  }
}
