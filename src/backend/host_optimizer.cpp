// Optimizer steps of the host backend.
#include <algorithm>
#include <cmath>

#include "backend/host.h"
#include "backend/host_number.h"

namespace vramplan {

using host::Look;
using host::look;
using host::packed;

namespace {

/// A state of 8 bits a number in blocks of 256: square root of the share of the block's largest, signed. Not the code
/// book of bitsandbytes, but as many bytes.
class Coded {
 public:
  explicit Coded(const Blocks& b)
      : codes_(reinterpret_cast<std::int8_t*>(b.codes->storage->data)),
        scales_(b.scales.data<float>()),
        values_(static_cast<std::size_t>(b.codes.numel())) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const float share = static_cast<float>(codes_[i]) / 127;
      values_[i] = std::copysign(share * share, share) * scales_[i / kBlock];
    }
  }
  ~Coded() {
    for (std::size_t from = 0; from < values_.size(); from += kBlock) {
      const std::size_t to = std::min(values_.size(), from + kBlock);
      float& scale = scales_[from / kBlock] = 0;
      for (std::size_t i = from; i < to; ++i) scale = std::max(scale, std::abs(values_[i]));
      for (std::size_t i = from; i < to; ++i)
        codes_[i] = static_cast<std::int8_t>(
            scale > 0 ? std::lround(std::copysign(std::sqrt(std::abs(values_[i]) / scale), values_[i]) * 127) : 0);
    }
  }
  Coded(const Coded&) = delete;
  Coded& operator=(const Coded&) = delete;
  float operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  void set(std::int64_t i, float x) { values_[static_cast<std::size_t>(i)] = x; }

 private:
  static constexpr std::size_t kBlock = 256;
  std::int8_t* codes_;
  float* scales_;
  std::vector<float> values_;
};

template <class State>
void adam_step(const Tensor& w, const Tensor& g, State& first, State& second, const AdamArgs& p) {
  const Look weight = look(w), gradient(g, w.shape());
  const double c1 = 1 - std::pow(p.beta1, static_cast<double>(p.step)),
               c2 = 1 - std::pow(p.beta2, static_cast<double>(p.step));
  for (std::int64_t i = 0, n = w.numel(); i < n; ++i) {
    double x = static_cast<double>(weight[i]), d = static_cast<double>(gradient[i]);
    if (p.decoupled)
      x *= 1 - p.lr * p.weight_decay;
    else
      d += p.weight_decay * x;
    const double a = p.beta1 * static_cast<double>(first[i]) + (1 - p.beta1) * d,
                 b = p.beta2 * static_cast<double>(second[i]) + (1 - p.beta2) * d * d;
    first.set(i, static_cast<float>(a));
    second.set(i, static_cast<float>(b));
    weight.set(i, static_cast<float>(x - p.lr * (a / c1) / (std::sqrt(b / c2) + p.eps)));
  }
}

template <class State>
void lion_step(const Tensor& w, const Tensor& g, State& state, const AdamArgs& p) {
  const Look weight = look(w), gradient(g, w.shape());
  for (std::int64_t i = 0, n = w.numel(); i < n; ++i) {
    const double d = static_cast<double>(gradient[i]), m = static_cast<double>(state[i]);
    const double direction = p.beta1 * m + (1 - p.beta1) * d;
    const double x = static_cast<double>(weight[i]) * (1 - p.lr * p.weight_decay);
    weight.set(i, static_cast<float>(direction == 0 ? x : x - std::copysign(p.lr, direction)));
    state.set(i, static_cast<float>(p.beta2 * m + (1 - p.beta2) * d));
  }
}

}  // namespace

void HostBackend::adam(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v, const AdamArgs& p) {
  const Look first = look(m), second = look(v);
  adam_step(w, g, first, second, p);
}

void HostBackend::adam_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const Blocks& v,
                                 const AdamArgs& p) {
  Coded first(m), second(v);
  adam_step(w, g, first, second, p);
}

void HostBackend::lion(const Tensor& w, const Tensor& g, const Tensor& m, const AdamArgs& p) {
  const Look state = look(m);
  lion_step(w, g, state, p);
}

void HostBackend::lion_blockwise(const Tensor& w, const Tensor& g, const Blocks& m, const AdamArgs& p) {
  Coded state(m);
  lion_step(w, g, state, p);
}

// Shazeer and Stern 2018 (arXiv 1804.04235) as torch/optim/_adafactor.py has it: eps (nothing, 1e-3), d 1, beta2_decay
// -0.8.
void HostBackend::adafactor(const Tensor& w, const Tensor& g, const Tensor& row, const Tensor& column,
                            const Tensor& variance, const AdafactorArgs& args) {
  const Look weight = look(w);
  const std::vector<float> gradient = packed(g);
  const auto n = static_cast<std::int64_t>(gradient.size());
  const double step = static_cast<double>(args.step), share = std::pow(step, -0.8), eps = 1.1920929e-7;
  auto root_mean = [&](auto value) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += value(i) * value(i);
    return std::sqrt(sum / static_cast<double>(n));
  };
  const double alpha = std::max(1e-3, root_mean([&](std::int64_t i) { return static_cast<double>(weight[i]); })) *
                       std::min(args.lr, 1 / std::sqrt(step));
  std::vector<double> estimate(gradient.size());
  auto blend = [&](const Look& state, std::int64_t i, double fresh) {
    state.set(i, static_cast<float>(static_cast<double>(state[i]) * (1 - share) + fresh * share));
  };
  if (row) {
    const std::int64_t rows = w.size(0), columns = w.size(1);
    const Look r = look(row), c = look(column);
    std::vector<double> by_row(static_cast<std::size_t>(rows), 0.0), by_column(static_cast<std::size_t>(columns), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      const double square = std::pow(static_cast<double>(gradient[static_cast<std::size_t>(i)]), 2);
      by_row[static_cast<std::size_t>(i / columns)] += square / static_cast<double>(columns);
      by_column[static_cast<std::size_t>(i % columns)] += square / static_cast<double>(rows);
    }
    double mean = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      blend(r, i, by_row[static_cast<std::size_t>(i)]);
      mean += static_cast<double>(r[i]) / static_cast<double>(rows);
    }
    for (std::int64_t i = 0; i < columns; ++i) blend(c, i, by_column[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < n; ++i)
      estimate[static_cast<std::size_t>(i)] =
          static_cast<double>(r[i / columns]) * static_cast<double>(c[i % columns]) / std::max(mean, eps);
  } else {
    const Look v = look(variance);
    for (std::int64_t i = 0; i < n; ++i) {
      blend(v, i, std::pow(static_cast<double>(gradient[static_cast<std::size_t>(i)]), 2));
      estimate[static_cast<std::size_t>(i)] = static_cast<double>(v[i]);
    }
  }
  auto update = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return static_cast<double>(gradient[at]) / std::sqrt(std::max(estimate[at], eps * eps));
  };
  const double denominator = std::max(1.0, root_mean(update));
  for (std::int64_t i = 0; i < n; ++i)
    weight.set(i, static_cast<float>(static_cast<double>(weight[i]) * (1 - args.lr * args.weight_decay) -
                                     alpha / denominator * update(i)));
}

}  // namespace vramplan
