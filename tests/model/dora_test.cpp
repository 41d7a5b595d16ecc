// DoRA against its paper: y = m (W + s B A) x / ||W + s B A||, row by row (arXiv 2402.09353, equation 5).
#include <doctest/doctest.h>

#include <cmath>

#include "backend/host.h"
#include "model/adapted_linear.h"
#include "model/dora.h"
#include "tape/elementwise.h"

using namespace vramplan;

namespace {

constexpr std::int64_t kIn = 5, kOut = 4, kRank = 2, kTokens = 3;

Tensor numbers(Tape& t, const Dims& shape, double phase) {
  Tensor x = t.memory().empty(shape, DType::fp32, "input");
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i)));
  return x;
}

}  // namespace

TEST_CASE("the layer's output is that of the scaled direction") {
  HostBackend backend;
  Ledger ledger;
  Memory memory(backend, ledger);
  Tape t(memory);
  for (const bool biased : {false, true}) {
    LinearWeights w;
    w.weight = numbers(t, {kOut, kIn}, 0.2);
    if (biased) w.bias = numbers(t, {kOut}, 0.9);
    w.lora_a = numbers(t, {kRank, kIn}, 0.4);
    w.lora_b = numbers(t, {kOut, kRank}, 0.6);
    w.lora_scale = 1.5;
    w.magnitude = numbers(t, {kOut}, 2.1);
    const Tensor x = numbers(t, {1, kTokens, kIn}, 0.3), y = apply_linear(t, w, x);
    for (std::int64_t n = 0; n < kTokens; ++n)
      for (std::int64_t o = 0; o < kOut; ++o) {
        double product = 0, square = 0;
        for (std::int64_t i = 0; i < kIn; ++i) {
          double v = static_cast<double>(w.weight.data<float>()[o * kIn + i]);
          for (std::int64_t r = 0; r < kRank; ++r)
            v += 1.5 * static_cast<double>(w.lora_b.data<float>()[o * kRank + r]) *
                 static_cast<double>(w.lora_a.data<float>()[r * kIn + i]);
          product += v * static_cast<double>(x.data<float>()[n * kIn + i]);
          square += v * v;
        }
        const double bias = biased ? static_cast<double>(w.bias.data<float>()[o]) : 0;
        const double expected = static_cast<double>(w.magnitude.data<float>()[o]) * product / std::sqrt(square) + bias;
        CHECK(static_cast<double>(y.data<float>()[n * kOut + o]) == doctest::Approx(expected).epsilon(1e-5));
      }
  }
}

TEST_CASE("a new magnitude leaves the layer as it was: B is zero at first") {
  HostBackend backend;
  Ledger ledger;
  Memory memory(backend, ledger);
  Tape t(memory);
  LinearWeights w;
  w.weight = numbers(t, {kOut, kIn}, 0.2);
  const Tensor x = numbers(t, {1, kTokens, kIn}, 0.3), before = apply_linear(t, w, x);
  w.lora_a = numbers(t, {kRank, kIn}, 0.4);
  w.lora_b = filled(t, {kOut, kRank}, DType::fp32, 0, "zeros");
  w.magnitude = initial_magnitude(t, w);
  const Tensor after = apply_linear(t, w, x);
  for (std::int64_t i = 0; i < before.numel(); ++i)
    CHECK(after.data<float>()[i] == doctest::Approx(before.data<float>()[i]).epsilon(1e-5));
}
