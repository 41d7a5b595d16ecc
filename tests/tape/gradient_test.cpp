// Every operation's backward against central differences on the host.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "backend/host.h"
#include "backend/host_number.h"
#include "tape/activation.h"
#include "tape/attention.h"
#include "tape/elementwise.h"
#include "tape/embedding.h"
#include "tape/label_losses.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/norm.h"
#include "tape/view.h"

using namespace vramplan;

namespace {

struct Bench {
  HostBackend backend;
  Ledger ledger;
  Memory memory{backend, ledger};
  Tape tape{memory};

  /// Numbers of both signs away from the kinks of relu and abs.
  Tensor input(const Dims& shape, double phase, double size = 0.8) {
    Tensor x = memory.empty(shape, DType::fp32, "input");
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double v = std::sin(1.7 * static_cast<double>(i) + phase);
      x.data<float>()[i] = static_cast<float>(size * (v + (v > 0 ? 0.1 : -0.1)));
    }
    x->requires_grad = true;
    return x;
  }
};

using Function = std::function<Tensor(Tape&, const std::vector<Tensor>&)>;

/// A scalar from any result: its mean against fixed weights, so that every element counts differently.
Tensor weighed(Bench& b, const Tensor& y) {
  Tensor w = b.memory.empty(y.shape(), DType::fp32, "weights");
  for (std::int64_t i = 0; i < w.numel(); ++i)
    w.data<float>()[i] = static_cast<float>(std::cos(0.9 * static_cast<double>(i)) + 0.3);
  return mean_all(b.tape, mul(b.tape, y, w));
}

double value(Bench& b, const Function& f, const std::vector<Tensor>& inputs) {
  b.tape.random_calls = 0;
  return static_cast<double>(*weighed(b, f(b.tape, inputs)).data<float>());
}

/// The largest difference between backward and central differences, relative to the largest gradient.
double worst_error(Bench& b, const Function& f, std::vector<Tensor> inputs) {
  b.tape.random_calls = 0;
  b.tape.backward(weighed(b, f(b.tape, inputs)));
  double worst = 0, largest = 1e-3;
  constexpr double kStep = 1e-2;
  b.tape.grad_enabled = false;
  for (Tensor& x : inputs) {
    if (!x.requires_grad()) continue;
    REQUIRE(x->grad);
    const Tensor gradient(x->grad);
    const auto computed = host::look(gradient);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      float& element = x.data<float>()[i];
      const float before = element;
      element = before + static_cast<float>(kStep);
      const double above = value(b, f, inputs);
      element = before - static_cast<float>(kStep);
      const double below = value(b, f, inputs);
      element = before;
      const double expected = (above - below) / (2 * kStep);
      worst = std::max(worst, std::abs(expected - static_cast<double>(computed[i])));
      largest = std::max(largest, std::abs(expected));
    }
  }
  b.tape.grad_enabled = true;
  return worst / largest;
}

Tensor of(Bench& b, const Dims& shape, double phase) { return b.input(shape, phase); }

}  // namespace

TEST_CASE("elementwise operations and reductions") {
  struct Row {
    const char* name;
    std::vector<Dims> shapes;
    Function f;
  };
  const Row rows[] = {
      {"add, broadcast", {{3, 4}, {4}}, [](Tape& t, const auto& x) { return add(t, x[0], x[1]); }},
      {"mul, broadcast", {{3, 4}, {3, 1}}, [](Tape& t, const auto& x) { return mul(t, x[0], x[1]); }},
      {"mul by itself", {{3, 4}}, [](Tape& t, const auto& x) { return mul(t, x[0], x[0]); }},
      {"subtract, broadcast", {{3, 4}, {4}}, [](Tape& t, const auto& x) { return subtract(t, x[0], x[1]); }},
      {"divide",
       {{3, 4}},
       [](Tape& t, const auto& x) { return divide(t, x[0], filled(t, {4}, DType::fp32, 2.5, "divisor")); }},
      {"repeat", {{1, 4}}, [](Tape& t, const auto& x) { return repeat(t, x[0], 3); }},
      {"cat of rows", {{2, 4}, {3, 4}}, [](Tape& t, const auto& x) { return cat(t, x[0], x[1], 0); }},
      {"scale", {{5}}, [](Tape& t, const auto& x) { return scale(t, x[0], -2.5); }},
      {"shift", {{5}}, [](Tape& t, const auto& x) { return shift(t, x[0], 3); }},
      {"negate", {{5}}, [](Tape& t, const auto& x) { return negate(t, x[0]); }},
      {"power 2", {{5}}, [](Tape& t, const auto& x) { return power(t, x[0], 2); }},
      {"power 3", {{5}}, [](Tape& t, const auto& x) { return power(t, x[0], 3); }},
      {"rsqrt", {{5}}, [](Tape& t, const auto& x) { return rsqrt(t, shift(t, power(t, x[0], 2), 0.5)); }},
      {"tanh", {{5}}, [](Tape& t, const auto& x) { return tanh(t, x[0]); }},
      {"silu", {{7}}, [](Tape& t, const auto& x) { return silu(t, x[0]); }},
      {"gelu", {{7}}, [](Tape& t, const auto& x) { return gelu(t, x[0]); }},
      {"gelu tanh", {{7}}, [](Tape& t, const auto& x) { return gelu_tanh(t, x[0]); }},
      {"gelu new", {{7}}, [](Tape& t, const auto& x) { return gelu_new(t, x[0]); }},
      {"relu", {{7}}, [](Tape& t, const auto& x) { return relu(t, x[0]); }},
      {"dropout", {{40}}, [](Tape& t, const auto& x) { return dropout(t, x[0], 0.4); }},
      {"mean of the last", {{3, 4}}, [](Tape& t, const auto& x) { return mean_last(t, x[0]); }},
      {"softmax", {{3, 4}}, [](Tape& t, const auto& x) { return softmax(t, x[0]); }},
      {"in-place add",
       {{3, 4}, {3, 4}},
       [](Tape& t, const auto& x) { return add_in_place(t, scale(t, x[0], 2), x[1]); }},
      {"clone", {{3, 4}}, [](Tape& t, const auto& x) { return clone(t, transpose(t, x[0], 0, 1)); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Bench b;
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < row.shapes.size(); ++i)
      inputs.push_back(of(b, row.shapes[i], 0.3 + static_cast<double>(i)));
    CHECK(worst_error(b, row.f, inputs) < 5e-3);
  }
}

TEST_CASE("views: transpose, reshape, slice, split, expand, cat") {
  Bench b;
  const Function f = [](Tape& t, const auto& x) {
    const Tensor y = reshape(t, transpose(t, x[0], 1, 2), {2, 12});  // a copy
    const auto parts = split3(t, view(t, y, {2, 2, 6}));
    const Tensor joined = cat(t, mul(t, parts[0], parts[1]), parts[2], -1);  // [2, 2, 4]
    const Tensor half = slice(t, joined, -1, 1, 3);
    const Tensor wide = expand(t, unsqueeze(t, half, 1), {2, 3, 2, 2});
    return contiguous(t, transpose(t, wide, 1, 3));
  };
  CHECK(worst_error(b, f, {of(b, {2, 4, 3}, 0.1)}) < 5e-3);
}

TEST_CASE("matrix products and linear layers") {
  Bench b;
  const Function plain = [](Tape& t, const auto& x) { return linear(t, x[0], x[1], {}); };
  CHECK(worst_error(b, plain, {of(b, {2, 3, 4}, 0.1), of(b, {5, 4}, 0.7)}) < 5e-3);
  const Function biased = [](Tape& t, const auto& x) { return linear(t, x[0], x[1], x[2]); };
  CHECK(worst_error(b, biased, {of(b, {2, 3, 4}, 0.1), of(b, {5, 4}, 0.7), of(b, {5}, 0.4)}) < 5e-3);
  const Function conv = [](Tape& t, const auto& x) { return conv1d(t, x[0], x[1], x[2]); };
  CHECK(worst_error(b, conv, {of(b, {2, 3, 4}, 0.1), of(b, {4, 5}, 0.7), of(b, {5}, 0.4)}) < 5e-3);
  const Function batched = [](Tape& t, const auto& x) { return matmul(t, x[0], transpose(t, x[1], 2, 3)); };
  CHECK(worst_error(b, batched, {of(b, {2, 2, 3, 4}, 0.1), of(b, {2, 2, 5, 4}, 0.7)}) < 5e-3);
}

TEST_CASE("norms") {
  Bench b;
  const Function layer = [](Tape& t, const auto& x) { return layer_norm(t, x[0], x[1], x[2], 1e-3); };
  CHECK(worst_error(b, layer, {of(b, {2, 3, 5}, 0.1), of(b, {5}, 0.7), of(b, {5}, 0.4)}) < 1e-2);
  const Function python = [](Tape& t, const auto& x) { return rms_norm_python(t, x[0], x[1], 1e-3); };
  CHECK(worst_error(b, python, {of(b, {2, 3, 5}, 0.1), of(b, {5}, 0.7)}) < 1e-2);
  const Function fused = [](Tape& t, const auto& x) { return rms_norm_fused(t, x[0], x[1], 1e-3); };
  CHECK(worst_error(b, fused, {of(b, {2, 3, 5}, 0.1), of(b, {5}, 0.7)}) < 1e-2);
  const Function gemma = [](Tape& t, const auto& x) { return rms_norm_gemma(t, x[0], x[1], 1e-3); };
  CHECK(worst_error(b, gemma, {of(b, {2, 3, 5}, 0.1), of(b, {5}, 0.7)}) < 1e-2);
  const std::vector<Tensor> x{of(b, {2, 3, 5}, 0.1), of(b, {5}, 0.7)};
  const Tensor a = python(b.tape, x), c = fused(b.tape, x);
  for (std::int64_t i = 0; i < a.numel(); ++i)
    CHECK(a.data<float>()[i] == doctest::Approx(c.data<float>()[i]).epsilon(1e-5));
}

TEST_CASE("embedding and the language-modelling loss") {
  Bench b;
  Tensor ids = b.memory.empty({2, 3}, DType::int64, "ids");
  for (std::int64_t i = 0; i < 6; ++i) ids.data<std::int64_t>()[i] = i * 5 % 4;  // one id stands twice
  const Function look_up = [&](Tape& t, const auto& x) { return embedding(t, x[0], ids); };
  CHECK(worst_error(b, look_up, {of(b, {4, 3}, 0.2)}) < 5e-3);
  const Function loss = [&](Tape& t, const auto& x) { return causal_lm_loss(t, x[0], ids); };
  CHECK(worst_error(b, loss, {of(b, {2, 3, 4}, 0.2)}) < 5e-3);
}

TEST_CASE("losses of labels that are numbers: values and gradients") {
  Bench b;
  Tensor target = b.memory.empty({2, 3}, DType::fp32, "target");
  for (std::int64_t i = 0; i < 6; ++i) target.data<float>()[i] = i % 2 == 0 ? 1 : 0;
  const Function square = [&](Tape& t, const auto& x) { return mse_loss(t, x[0], target); };
  const Function binary = [&](Tape& t, const auto& x) { return binary_cross_entropy_with_logits(t, x[0], target); };
  CHECK(worst_error(b, square, {of(b, {2, 3}, 0.2)}) < 5e-3);
  CHECK(worst_error(b, binary, {of(b, {2, 3}, 0.2)}) < 5e-3);
  const Tensor x = of(b, {2, 3}, 0.2);
  double squares = 0, entropy = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    const double v = static_cast<double>(x.data<float>()[i]), y = i % 2 == 0 ? 1 : 0;
    squares += (v - y) * (v - y) / 6;
    entropy += (std::log1p(std::exp(v)) - y * v) / 6;
  }
  CHECK(static_cast<double>(*mse_loss(b.tape, x, target).data<float>()) == doctest::Approx(squares).epsilon(1e-5));
  CHECK(static_cast<double>(*binary_cross_entropy_with_logits(b.tape, x, target).data<float>()) ==
        doctest::Approx(entropy).epsilon(1e-5));
}

TEST_CASE("attention: every kernel's gradient, and all kernels agree") {
  struct Row {
    SdpaKernel kernel;
    bool causal, grouped;
    double dropout;
  };
  for (const Row& row : {Row{SdpaKernel::efficient, true, false, 0}, Row{SdpaKernel::efficient, false, true, 0},
                         Row{SdpaKernel::efficient, true, false, 0.3}, Row{SdpaKernel::math, true, false, 0},
                         Row{SdpaKernel::math, false, true, 0}, Row{SdpaKernel::math, true, true, 0.3}}) {
    CAPTURE(static_cast<int>(row.kernel));
    CAPTURE(row.dropout);
    Bench b;
    const Function f = [&](Tape& t, const auto& x) {
      return sdpa(t, x[0], x[1], x[2], {}, {0.5, row.dropout, row.causal, row.grouped, row.kernel});
    };
    const std::int64_t kv = row.grouped ? 1 : 2;
    CHECK(worst_error(b, f, {of(b, {2, 2, 3, 4}, 0.1), of(b, {2, kv, 3, 4}, 0.7), of(b, {2, kv, 3, 4}, 1.3)}) < 1e-2);
  }
  Bench b;
  const std::vector<Tensor> x{of(b, {2, 2, 3, 4}, 0.1), of(b, {2, 2, 3, 4}, 0.7), of(b, {2, 2, 3, 4}, 1.3)};
  const Tensor fused = sdpa(b.tape, x[0], x[1], x[2], {}, {0.5, 0, true, false, SdpaKernel::efficient});
  const Tensor math = sdpa(b.tape, x[0], x[1], x[2], {}, {0.5, 0, true, false, SdpaKernel::math});
  const auto one = host::packed(fused), other = host::packed(math);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == doctest::Approx(other[i]).epsilon(1e-5));
}

TEST_CASE("eager attention in both forms") {
  for (bool llama : {true, false}) {
    Bench b;
    const Function f = [&](Tape& t, const auto& x) {
      const EagerAttention a = llama ? eager_attention_llama(t, x[0], x[1], x[2], {}, {0.5, 0.2, DType::fp32, 3})
                                     : eager_attention_gpt2(t, x[0], x[1], x[2], {}, {0.5, 0.2, DType::fp32, 3});
      return contiguous(t, a.out);
    };
    const std::int64_t kv = llama ? 1 : 2;
    CHECK(worst_error(b, f, {of(b, {2, 2, 3, 4}, 0.1), of(b, {2, kv, 3, 4}, 0.7), of(b, {2, kv, 3, 4}, 1.3)}) < 1e-2);
  }
}
