// Elementwise work, reductions, products and the optimizer of the host backend.
#include "backend/host.h"

#include <algorithm>
#include <numbers>

#include "backend/host_number.h"

namespace vramplan {

using host::Look;
using host::look;
using host::packed;

namespace {

float gelu_erf(float x) { return 0.5F * x * (1 + std::erf(x * std::numbers::sqrt2_v<float> / 2)); }
float gelu_erf_slope(float x) {
  const float cdf = 0.5F * (1 + std::erf(x * std::numbers::sqrt2_v<float> / 2));
  return cdf + x * std::exp(-0.5F * x * x) * (0.5F * std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float>);
}
constexpr float kTanhScale = 0.7978845608028654F;  // sqrt(2 / pi)
float gelu_tanh_of(float x) { return 0.5F * x * (1 + std::tanh(kTanhScale * (x + 0.044715F * x * x * x))); }
float gelu_tanh_slope(float x) {
  const float t = std::tanh(kTanhScale * (x + 0.044715F * x * x * x));
  return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * kTanhScale * (1 + 3 * 0.044715F * x * x);
}
float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float apply(Unary op, float x, float a) {
  switch (op) {
    case Unary::copy: return x;
    case Unary::neg: return -x;
    case Unary::scale: return x * a;
    case Unary::add: return x + a;
    case Unary::pow: return std::pow(x, a);
    case Unary::exponential: return std::pow(a, x);
    case Unary::sqrt: return std::sqrt(x);
    case Unary::rsqrt: return 1 / std::sqrt(x);
    case Unary::tanh: return std::tanh(x);
    case Unary::sin: return std::sin(x);
    case Unary::cos: return std::cos(x);
    case Unary::silu: return x * sigmoid(x);
    case Unary::gelu: return gelu_erf(x);
    case Unary::gelu_tanh: return gelu_tanh_of(x);
    case Unary::relu: return x > 0 ? x : 0;
    case Unary::mask_to_bias: return x != 0 ? 0 : a;
    case Unary::logical_not: return x != 0 ? 0.0F : 1.0F;
    case Unary::sigmoid: return sigmoid(x);
    case Unary::log_sigmoid: return std::min(x, 0.0F) - std::log1p(std::exp(-std::abs(x)));
  }
  return 0;
}

float apply(Binary op, float a, float b) {
  switch (op) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: return a / b;
    case Binary::less_equal: return a <= b ? 1.0F : 0.0F;
    case Binary::greater: return a > b ? 1.0F : 0.0F;
    case Binary::logical_and: return a != 0 && b != 0 ? 1.0F : 0.0F;
    case Binary::tanh_backward: return a * (1 - b * b);
    case Binary::silu_backward: {
      const float s = sigmoid(b);
      return a * s * (1 + b * (1 - s));
    }
    case Binary::gelu_backward: return a * gelu_erf_slope(b);
    case Binary::gelu_tanh_backward: return a * gelu_tanh_slope(b);
    case Binary::relu_backward: return b > 0 ? a : 0;
  }
  return 0;
}

}  // namespace

std::byte* HostBackend::allocate(Bytes n) { return new std::byte[n.count()]; }
void HostBackend::release(std::byte* p, Bytes) { delete[] p; }

std::uint64_t HostBackend::checksum(const Tensor& x) {
  const std::byte* data = x->storage->data;
  const std::uint64_t n = x->storage->bytes.count();
  std::uint64_t total = 0;
  for (std::uint64_t word = 0; word * 8 < n; ++word) {
    std::uint64_t bits = 0;
    for (std::uint64_t b = 0; b < 8 && word * 8 + b < n; ++b)
      bits |= std::to_integer<std::uint64_t>(data[word * 8 + b]) << (8 * b);
    total += host::mix(bits ^ host::mix(word));
  }
  return total;
}

void HostBackend::fill(const Tensor& y, double value) {
  const Look out = look(y);
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, static_cast<float>(value));
}

void HostBackend::arange(const Tensor& y, double start) {
  const Look out = look(y);
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, static_cast<float>(start + static_cast<double>(i)));
}

void HostBackend::tokens(const Tensor& y, std::int64_t vocabulary, std::uint64_t stream) {
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i)
    y.data<std::int64_t>()[i] = static_cast<std::int64_t>(host::uniform({stream, 0}, static_cast<std::uint64_t>(i)) *
                                                          static_cast<double>(vocabulary));
}

void HostBackend::tril(const Tensor& y) {
  const Look out = look(y);
  const std::int64_t columns = y.size(-1);
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, i % columns <= i / columns ? 1.0F : 0.0F);
}

void HostBackend::unary(Unary op, const Tensor& y, const Tensor& x, double a) {
  const Look out = look(y), in(x, y.shape());
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, apply(op, in[i], static_cast<float>(a)));
}

void HostBackend::binary(Binary op, const Tensor& y, const Tensor& a, const Tensor& b) {
  const Look out = look(y), left(a, y.shape()), right(b, y.shape());
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, apply(op, left[i], right[i]));
}

void HostBackend::accumulate(const Tensor& y, const Tensor& x, double a) {
  const Look out = look(y), in(x, y.shape());
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, out[i] + static_cast<float>(a) * in[i]);
}

void HostBackend::sum(const Tensor& y, const Tensor& x, double a) {
  const Look in = look(x);
  const Dims places = expanded_strides(y.shape(), contiguous_strides(y.shape()), x.shape());
  std::vector<double> total(static_cast<std::size_t>(y.numel()), 0.0);
  for (std::int64_t i = 0, n = x.numel(); i < n; ++i) {
    std::int64_t rest = i, place = 0;
    for (std::size_t d = x.shape().size(); d-- > 0;) {
      place += rest % x.shape()[d] * places[d];
      rest /= x.shape()[d];
    }
    total[static_cast<std::size_t>(place)] += static_cast<double>(in[i]);
  }
  const Look out = look(y);
  for (std::size_t i = 0; i < total.size(); ++i)
    out.set(static_cast<std::int64_t>(i), static_cast<float>(total[i] * a));
}

void HostBackend::matmul(const Tensor& y, const Tensor& a, const Tensor& b, double alpha, double beta) {
  const std::vector<float> left = packed(a), right = packed(b);
  const bool batched = y.rank() == 3;
  const auto batch = static_cast<std::size_t>(batched ? y.size(0) : 1), n = static_cast<std::size_t>(y.size(-2)),
             m = static_cast<std::size_t>(y.size(-1)), k = static_cast<std::size_t>(a.size(-1));
  std::vector<float> row(m);
  const Look out = look(y);
  for (std::size_t x = 0; x < batch; ++x)
    for (std::size_t i = 0; i < n; ++i) {
      std::fill(row.begin(), row.end(), 0.0F);
      for (std::size_t c = 0; c < k; ++c) {
        const float f = left[(x * n + i) * k + c];
        const float* source = right.data() + (x * k + c) * m;
        for (std::size_t j = 0; j < m; ++j) row[j] += f * source[j];
      }
      for (std::size_t j = 0; j < m; ++j) {
        const auto at = static_cast<std::int64_t>((x * n + i) * m + j);
        out.set(at, static_cast<float>(alpha) * row[j] + (beta != 0 ? static_cast<float>(beta) * out[at] : 0.0F));
      }
    }
}

void HostBackend::norm(const Tensor& y, const Tensor& x) {
  const Look in = look(x);
  double total = 0;
  for (std::int64_t i = 0, n = x.numel(); i < n; ++i) total += static_cast<double>(in[i]) * static_cast<double>(in[i]);
  look(y).set(0, static_cast<float>(std::sqrt(total)));
}

void HostBackend::row_norms(const Tensor& y, const Tensor& x) {
  const Look in = look(x), out = look(y);
  const std::int64_t width = x.size(-1);
  for (std::int64_t r = 0, rows = y.numel(); r < rows; ++r) {
    double total = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto v = static_cast<double>(in[r * width + i]);
      total += v * v;
    }
    out.set(r, static_cast<float>(std::sqrt(total)));
  }
}

void HostBackend::clip_coefficient(const Tensor& y, const Tensor& norm, double largest) {
  look(y).set(0, static_cast<float>(std::min(1.0, largest / static_cast<double>(look(norm)[0]))));
}

}  // namespace vramplan
