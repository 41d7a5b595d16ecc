// Liger-Kernel's fused linear cross-entropy (liger_kernel/ops/fused_linear_cross_entropy.py).
#include <algorithm>
#include <bit>

#include "tape/elementwise.h"
#include "tape/loss.h"
#include "tape/view.h"

namespace vramplan {
namespace {

std::int64_t next_power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// The gradients wait since forward; they are multiplied by the loss's in place.
Grads fused_linear_backward(Tape& t, Node& n, Grads& dy) {
  {  // torch.equal(grad_output, torch.tensor(1.0, device=...))
    const Tensor one = filled(t, {}, dy[0].dtype(), 1, "tensor");
    const Tensor equal = t.memory().empty({}, DType::boolean, "eq"), all = t.memory().empty({}, DType::boolean, "all");
  }
  return {n.get(t, 0), n.get(t, 1)};
}

/// A stored gradient's rows [from, from + count).
Tensor rows_of(Tape& t, const Tensor& x, std::int64_t from, std::int64_t count) {
  return t.view_of(x, {count, x.size(1)}, x.strides(), x->offset + from * x.size(1), x.dtype());
}

}  // namespace

Tensor fused_linear_cross_entropy(Tape& t, const Tensor& x, const Tensor& weight, const Tensor& target) {
  auto node = t.record("LigerFusedLinearCrossEntropyFunction", fused_linear_backward, {&x, &weight});
  const Restore no_grad(t.grad_enabled, false);
  Memory& m = t.memory();
  Backend& b = t.backend();
  const std::int64_t n = x.size(0), h = x.size(1), v = weight.size(0);
  const std::int64_t share = (v + h - 1) / h, part = std::min(next_power_of_two((n + share - 1) / share), n);
  const Tensor dx = filled(t, x.shape(), x.dtype(), 0, "zeros_like");
  const Tensor dw = weight.requires_grad() ? filled(t, weight.shape(), weight.dtype(), 0, "zeros_like") : Tensor();
  const Tensor losses = filled(t, {n}, DType::fp32, 0, "zeros");
  const Tensor mask = m.empty({n}, DType::boolean, "ne");
  {
    const Tensor counted = m.empty({}, DType::int64, "sum");
    const Scratch wide(m, storage_bytes(DType::int64, n), "_to_copy");
  }
  Tensor logits = m.empty({part, v}, x.dtype(), "empty");
  auto product = [&](const Tensor& y, const Tensor& a, const Tensor& c, double beta) {
    m.ledger().product(Event::Kind::product);
    b.matmul(y, a, c, 1, beta);
  };
  for (std::int64_t from = 0; from < n; from += part) {
    const std::int64_t count = std::min(part, n - from);
    const Tensor rows = rows_of(t, x, from, count), made = rows_of(t, logits, 0, count);
    product(made, rows, transposed(t, weight, 0, 1), 0);
    b.cross_entropy_gradient(made, t.view_of(losses, {count}, {1}, from, DType::fp32),
                             t.view_of(target, {count}, {1}, target->offset + from, DType::int64), target);
    product(rows_of(t, dx, from, count), made, weight, 0);
    if (!dw) continue;
    if (dw.dtype() != DType::fp32) {
      product(dw, transposed(t, made, 0, 1), rows, 1);
      continue;
    }
    const Tensor share_of_part = m.empty(dw.shape(), DType::fp32, "mm");  // only 16-bit products are added in place
    product(share_of_part, transposed(t, made, 0, 1), rows, 0);
    b.accumulate(dw, share_of_part, 1);
  }
  logits.reset();
  Tensor loss = m.empty({}, DType::fp32, "sum");
  b.sum(t.view_of(loss, {1}, {1}, 0, DType::fp32), losses, 1);
  t.save_result(node, dx);
  if (dw)
    t.save_result(node, dw);
  else if (node)
    node->keep_for_backward(Saved());
  return t.output(node, loss);
}

}  // namespace vramplan
