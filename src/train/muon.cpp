// torch.optim.Muon (torch/optim/_muon.py): momentum, then five Newton-Schulz steps in bf16 on one matrix at a time.
#include "tape/elementwise.h"
#include "tape/view.h"
#include "train/optimizer.h"

namespace vramplan {
namespace {

constexpr double kMomentum = 0.95, kA = 3.4445, kB = -4.775, kC = 2.0315, kMuonEps = 1e-7;
constexpr int kSteps = 5;

Tensor product(Tape& t, const Tensor& a, const Tensor& b, const char* op) {
  Tensor y = t.memory().empty({a.size(0), b.size(1)}, a.dtype(), op);
  t.memory().ledger().product(Event::Kind::product);
  t.backend().matmul(y, a, b, 1, 0);
  return y;
}

/// beta * x + alpha * a @ b
Tensor addmm(Tape& t, const Tensor& x, const Tensor& a, const Tensor& b, double beta, double alpha) {
  Tensor y = t.memory().empty(x.shape(), x.dtype(), "addmm");
  t.backend().unary(Unary::copy, y, x, 0);
  t.memory().ledger().product(Event::Kind::product);
  t.backend().matmul(y, a, b, alpha, beta);
  return y;
}

/// x /= max(|x|, eps), in place
void normalise(Tape& t, const Tensor& x) {
  const Tensor norm = t.memory().empty({}, x.dtype(), "linalg_vector_norm");
  t.backend().norm(norm, x);
  const Tensor least = t.memory().empty({}, x.dtype(), "clamp");
  t.backend().unary(Unary::add, least, norm, kMuonEps);
  t.backend().binary(Binary::div, x, x, least);
}

}  // namespace

/// _zeropower_via_newtonschulz. `update` itself is changed when it is bf16.
Tensor OptimizerState::orthogonal(const Tensor& update) {
  Tensor x = cast(tape_, update, DType::bf16);
  const bool tall = x.size(0) > x.size(1);
  if (tall) x = transposed(tape_, x, 0, 1);
  normalise(tape_, x);
  Tensor gram, polynomial;  // Python locals: the last round's live until this round's are bound
  for (int i = 0; i < kSteps; ++i) {
    gram = product(tape_, x, transposed(tape_, x, 0, 1), "mm");
    polynomial = addmm(tape_, gram, gram, gram, kB, kC);
    x = addmm(tape_, x, polynomial, x, kA, 1);
  }
  return tall ? transposed(tape_, x, 0, 1) : x;
}

void OptimizerState::muon(const std::vector<Parameter>& parameters) {
  Backend& b = tape_.backend();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!slots_[i].first) slots_[i].first = state_like(Tensor(parameters[i].tensor->grad), "momentum_buffer");
  Tensor update;  // a Python local: it lives into the next round
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor w = target(parameters[i], i), g(parameters[i].tensor->grad), buffer = slots_[i].first;
    b.unary(Unary::scale, buffer, buffer, kMomentum);
    b.accumulate(buffer, g, 1 - kMomentum);
    Tensor blended = tape_.memory().empty_like(g, g.dtype(), "lerp");
    b.unary(Unary::scale, blended, g, 1 - kMomentum);
    b.accumulate(blended, buffer, kMomentum);
    update = std::move(blended);
    update = orthogonal(update);
    b.unary(Unary::scale, w, w, 1 - options_.lr * options_.weight_decay);
    b.accumulate(w, update, -options_.lr);
  }
}

}  // namespace vramplan
