#include "backend/dry.h"

namespace vramplan {
namespace {

/// Two operations for each pair of positions that see each other: half of them in causal attention.
double pairs(const Tensor& q, const Tensor& k, const AttentionArgs& args) {
  const double all =
      static_cast<double>(q.size(0) * q.size(1)) * static_cast<double>(q.size(2)) * static_cast<double>(k.size(2));
  return args.causal ? all : 2 * all;
}

/// Steps of PyTorch's AdamW in kernels of their own (torch/optim/adam.py): the weight is read and written twice, each
/// state twice, the root written once and read and written three times more; a fused kernel does it in 7 passes.
constexpr double kPassesOfSeparateAdam = 20;
/// transformers' and PyTorch's Adafactor square, average, divide, clip and add the update.
constexpr double kPassesOfAdafactor = 16;

}  // namespace

/// Bytes a kernel reads or writes: an expanded dimension is read once.
double DryBackend::traffic(const Tensor& x) {
  if (!x) return 0;
  double n = facts(x.dtype()).bits / 8.0;
  for (int i = 0; i < x.rank(); ++i)
    if (x.strides().at(i) != 0) n *= static_cast<double>(x.size(i));
  return n;
}

void DryBackend::spend(double flops, double seconds_of_flops, double bytes) {
  const auto phase = static_cast<std::size_t>(ledger_ ? ledger_->phase() : Phase::init);
  work_.flops[phase] += flops;
  work_.seconds[phase] += std::max({seconds_of_flops, bytes * speed_.byte, speed_.launch});
}

void DryBackend::matmul(const Tensor& y, const Tensor& a, const Tensor& b, double, double beta) {
  const double flops = 2.0 * static_cast<double>(y.numel()) * static_cast<double>(a.size(-1));
  spend(flops, flops * speed_.product[static_cast<std::size_t>(a.dtype())],
        traffic(a) + traffic(b) + (beta == 0 ? 1 : 2) * traffic(y));
}

void DryBackend::matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight& w, const Tensor&) {
  const double flops = 2.0 * static_cast<double>(y.numel()) * static_cast<double>(x.size(-1));
  spend(flops, flops * speed_.product[static_cast<std::size_t>(DType::int8)],
        2 * traffic(x) + traffic(w.codes) + traffic(y));
}

void DryBackend::attention(const Tensor& out, const Tensor&, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& bias, const AttentionArgs& args) {
  const double flops = pairs(q, k, args) * static_cast<double>(q.size(3) + v.size(3));
  spend(flops, flops * speed_.attention[static_cast<std::size_t>(q.dtype())],
        traffic(out) + traffic(q) + traffic(k) + traffic(v) + traffic(bias));
}

void DryBackend::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                                    const Tensor& out, const Tensor&, const AttentionArgs& args) {
  // The scores once more, then dv, dp, dq, dk.
  const double flops = pairs(q, k, args) * static_cast<double>(3 * q.size(3) + 2 * v.size(3));
  spend(flops, flops * speed_.attention[static_cast<std::size_t>(q.dtype())],
        traffic(dq) + traffic(dk) + traffic(dv) + 2 * traffic(dout) + traffic(q) + traffic(k) + traffic(v) +
            traffic(bias) + 2 * traffic(out));
}

void DryBackend::adam(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v, const AdamArgs& args) {
  if (args.fused)
    stream(w, w, g, m, m, v, v);
  else if (speed_.known())
    spend(0, 0, kPassesOfSeparateAdam * traffic(w));
}

void DryBackend::adafactor(const Tensor& w, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const AdafactorArgs&) {
  if (speed_.known()) spend(0, 0, kPassesOfAdafactor * traffic(w));
}

}  // namespace vramplan
