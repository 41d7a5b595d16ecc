#include "train/clipping.h"

#include "tape/elementwise.h"

namespace vramplan {
namespace {

/// What _foreach_norm takes for itself (native/cuda/ForeachReduceOp.cu): the addresses of the results, and a partial
/// sum for each chunk of each gradient.
struct NormScratch {
  Bytes pointers, parts;
};
NormScratch norm_scratch(const std::vector<Parameter>& parameters) {
  constexpr std::int64_t kChunk = 65536;
  std::int64_t gradients = 0, chunks = 0;
  for (const Parameter& p : parameters) {
    if (!p.tensor->grad) continue;
    ++gradients;
    chunks += (p.tensor.numel() + kChunk - 1) / kChunk;
  }
  return {storage_bytes(DType::int64, gradients + 1), storage_bytes(DType::fp32, chunks)};
}

std::vector<Tensor> gradient_norms(Tape& t, const std::vector<Parameter>& parameters) {
  Memory& m = t.memory();
  const NormScratch scratch = norm_scratch(parameters);
  const Scratch pointers(m, scratch.pointers, "_foreach_norm"), parts(m, scratch.parts, "_foreach_norm");
  std::vector<Tensor> norms;
  for (const Parameter& p : parameters) {
    if (!p.tensor->grad) continue;
    norms.push_back(m.empty({}, p.tensor.dtype(), "_foreach_norm"));
    t.backend().norm(norms.back(), Tensor(p.tensor->grad));
  }
  return norms;
}

}  // namespace

void clip_gradients(Tape& t, const std::vector<Parameter>& parameters, double largest) {
  Restore no_grad(t.grad_enabled, false);
  Memory& m = t.memory();
  Backend& b = t.backend();
  Tensor total;
  {
    const std::vector<Tensor> norms = gradient_norms(t, parameters);
    if (norms.empty()) return;
    const Tensor stacked = m.empty({static_cast<std::int64_t>(norms.size())}, norms[0].dtype(), "cat");
    for (std::size_t i = 0; i < norms.size(); ++i)
      b.unary(Unary::copy, t.view_of(stacked, {}, {}, static_cast<std::int64_t>(i), stacked.dtype()), norms[i], 0);
    total = m.empty({}, stacked.dtype(), "linalg_vector_norm");
    b.norm(total, stacked);
  }
  Tensor wanted;
  {
    const Tensor safe = shift(t, total, 1e-6);
    const Tensor inverse = m.empty({}, total.dtype(), "reciprocal");
    wanted = m.empty({}, total.dtype(), "mul");
    b.clip_coefficient(wanted, safe, largest);
  }
  const Tensor coefficient = map(t, Unary::copy, wanted, "clamp");
  wanted.reset();
  for (const Parameter& p : parameters)
    if (p.tensor->grad) b.binary(Binary::mul, Tensor(p.tensor->grad), Tensor(p.tensor->grad), coefficient);
}

}  // namespace vramplan
