#include "train/clipping.h"

#include "tape/elementwise.h"
#include "tape/kernel_scratch.h"

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

/// torch.linalg.vector_norm of one gradient after the other.
std::vector<Tensor> norms_one_by_one(Tape& t, const std::vector<Parameter>& parameters) {
  Memory& m = t.memory();
  std::vector<Tensor> norms;
  for (const Parameter& p : parameters) {
    if (!p.tensor->grad) continue;
    const Tensor gradient(p.tensor->grad);
    norms.push_back(m.empty({}, gradient.dtype(), "linalg_vector_norm"));
    const ReduceScratch s = whole_sum_scratch(t.device, gradient.numel(), item_size(gradient.dtype()));
    const Scratch accumulator(m, s.accumulator, "norm accumulator"), partial(m, s.partial, "norm parts"),
        semaphores(m, s.semaphores, "norm semaphores");
    t.backend().norm(norms.back(), gradient);
  }
  return norms;
}

std::vector<Tensor> norms_at_once(Tape& t, const std::vector<Parameter>& parameters) {
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

void clip_gradients(Tape& t, const std::vector<Parameter>& parameters, double largest, bool one_by_one) {
  Restore no_grad(t.grad_enabled, false);
  Memory& m = t.memory();
  Backend& b = t.backend();
  Tensor total;
  {
    const std::vector<Tensor> norms = one_by_one ? norms_one_by_one(t, parameters) : norms_at_once(t, parameters);
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
