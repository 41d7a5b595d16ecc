// Softmax, norms, dropout, embeddings, the loss and attention of the cuda backend.
#include <fmt/format.h>

#include "backend/cuda.h"
#include "backend/cuda_views.h"
#include "vramplan/base/error.h"

namespace vramplan {

using cuda::numbers;
using cuda::rows_of;
using cuda::view;

namespace {

CudaDriver::Grid block_a_row(const Tensor& t) { return {static_cast<unsigned>(rows_of(t))}; }
long long width_of(const Tensor& t) { return cuda::width_of(t); }

/// One of the kernels attention_64, attention_128, attention_256, by head size.
class AttentionKernel {
 public:
  AttentionKernel(const Tensor& q, const Tensor& v) : width_(std::max(q.size(3), v.size(3))) {
    if (width_ > 256)
      throw UserError(fmt::format("the GPU backend's fused attention takes heads up to 256 wide; these are {}", width_),
                      "probe train", "use --attention eager or --backend host");
  }
  const char* pick(const char* for_64, const char* for_128, const char* for_256) const {
    return width_ <= 64 ? for_64 : width_ <= 128 ? for_128 : for_256;
  }
  static CudaDriver::Grid grid(std::int64_t rows, std::int64_t heads, std::int64_t batch) {
    constexpr std::int64_t kTile = 32;
    return {static_cast<unsigned>((rows + kTile - 1) / kTile), static_cast<unsigned>(heads),
            static_cast<unsigned>(batch)};
  }

 private:
  std::int64_t width_;
};

kernels::Attention attention_of(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                const Tensor& bias, const Tensor& lse, const AttentionArgs& args) {
  kernels::Attention a{};
  a.q = cuda::heads(q), a.k = cuda::heads(k), a.v = cuda::heads(v), a.out = cuda::heads(out);
  a.heads = static_cast<int>(q.size(1));
  a.group = static_cast<int>(q.size(1) / k.size(1));
  a.s = static_cast<int>(q.size(2));
  a.t = static_cast<int>(k.size(2));
  a.d = static_cast<int>(q.size(3));
  a.dv_width = static_cast<int>(v.size(3));
  a.bias = cuda::heads(bias, {q.size(0), q.size(1), q.size(2), k.size(2)});
  a.lse = lse ? reinterpret_cast<float*>(cuda::first_of(lse)) : nullptr;
  a.lse_rows = lse ? lse.size(2) : 0;
  a.causal = args.causal;
  a.scale = static_cast<float>(args.scale);
  a.factor = static_cast<float>(1 / (1 - args.dropout));
  a.drops = args.dropout > 0;
  a.draw = cuda::draw(args.random, args.dropout);
  return a;
}

}  // namespace

void CudaBackend::softmax(const Tensor& y, const Tensor& x, bool log) {
  kernels_.run("softmax", block_a_row(x), view(y), view(x), width_of(x), static_cast<int>(log));
}

void CudaBackend::softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, bool log) {
  kernels_.run("softmax_backward", block_a_row(y), view(dx), view(dy), view(y), width_of(y), static_cast<int>(log));
}

void CudaBackend::dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, RandomKey key) {
  kernels_.each("dropout", x.numel(), view(y), view(mask), view(x), static_cast<float>(1 / (1 - p)),
                cuda::draw(key, p));
}

void CudaBackend::layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& w,
                             const Tensor& b, double eps) {
  kernels_.run("layer_norm", block_a_row(x), view(y), view(mean), view(rstd), view(x), view(w), view(b), width_of(x),
               static_cast<float>(eps));
}

void CudaBackend::layer_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& db, const Tensor& dy,
                                      const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& w) {
  kernels_.run("layer_norm_backward", block_a_row(x), view(dx), view(dy), view(x), view(mean), view(rstd), view(w),
               width_of(x));
  kernels_.run("norm_weight_backward", {static_cast<unsigned>((width_of(x) + 31) / 32)}, view(dw), view(db), view(dy),
               view(x), view(mean), view(rstd), static_cast<long long>(rows_of(x)), width_of(x));
}

void CudaBackend::rms_norm(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& w, double eps) {
  kernels_.run("rms_norm", block_a_row(x), view(y), view(rstd), view(x), view(w), width_of(x), static_cast<float>(eps));
}

void CudaBackend::rms_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                    const Tensor& rstd, const Tensor& w) {
  kernels_.run("rms_norm_backward", block_a_row(x), view(dx), view(dy), view(x), view(rstd), view(w), width_of(x));
  kernels_.run("norm_weight_backward", {static_cast<unsigned>((width_of(x) + 31) / 32)}, view(dw), kernels::View{},
               view(dy), view(x), kernels::View{}, view(rstd), static_cast<long long>(rows_of(x)), width_of(x));
}

void CudaBackend::embedding(const Tensor& y, const Tensor& w, const Tensor& ids) {
  kernels_.each("embedding", y.numel(), view(y), cuda::matrix(w), numbers(ids), width_of(w));
}

void CudaBackend::embedding_backward(const Tensor& dw, const Tensor& dy, const Tensor& ids) {
  const long long width = width_of(dw);
  kernels_.run("embedding_backward",
               {static_cast<unsigned>(dw.size(0)),
                static_cast<unsigned>((width + CudaKernels::kThreads - 1) / CudaKernels::kThreads)},
               cuda::matrix(dw), view(dy), numbers(ids), static_cast<long long>(ids.numel()),
               static_cast<long long>(ids.distinct()), width);
}

void CudaBackend::nll(const Tensor& loss, const Tensor& total, const Tensor& log_probs, const Tensor& target) {
  kernels_.run("nll", {}, view(loss), view(total), view(log_probs), numbers(target),
               static_cast<long long>(rows_of(log_probs)), width_of(log_probs));
}

void CudaBackend::nll_backward(const Tensor& dx, const Tensor& dloss, const Tensor& target, const Tensor& total) {
  kernels_.each("nll_backward", dx.numel(), view(dx), view(dloss), numbers(target), view(total), width_of(dx));
}

void CudaBackend::gather(const Tensor& y, const Tensor& x, const Tensor& index) {
  kernels_.each("gather", y.numel(), view(y), view(x), numbers(index), width_of(x));
}

void CudaBackend::scatter(const Tensor& dx, const Tensor& dy, const Tensor& index) {
  kernels_.each("scatter", dy.numel(), view(dx), view(dy), numbers(index), width_of(dx));
}

void CudaBackend::cross_entropy_gradient(const Tensor& logits, const Tensor& losses, const Tensor& target,
                                         const Tensor& all) {
  kernels_.run("cross_entropy_gradient", block_a_row(logits), view(logits), view(losses), numbers(target), numbers(all),
               static_cast<long long>(all.numel()), width_of(logits));
}

void CudaBackend::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                            const Tensor& bias, const AttentionArgs& args) {
  const AttentionKernel kernel(q, v);
  kernels_.run(kernel.pick("attention_64", "attention_128", "attention_256"),
               AttentionKernel::grid(q.size(2), q.size(1), q.size(0)), attention_of(q, k, v, out, bias, lse, args));
}

void CudaBackend::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                     const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                                     const Tensor& out, const Tensor& lse, const AttentionArgs& args) {
  const AttentionKernel kernel(q, v);
  kernels::Attention a = attention_of(q, k, v, out, bias, lse, args);
  a.dq = cuda::heads(dq), a.dk = cuda::heads(dk), a.dv = cuda::heads(dv), a.dout = cuda::heads(dout);
  kernels_.run(kernel.pick("attention_query_64", "attention_query_128", "attention_query_256"),
               AttentionKernel::grid(q.size(2), q.size(1), q.size(0)), a);
  kernels_.run(kernel.pick("attention_key_64", "attention_key_128", "attention_key_256"),
               AttentionKernel::grid(k.size(2), k.size(1), q.size(0)), a);
}

}  // namespace vramplan
