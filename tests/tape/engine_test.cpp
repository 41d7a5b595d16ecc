// What is kept, what is added in place, what is dropped when: by hand.
#include <doctest/doctest.h>

#include <cstring>

#include "backend/dry.h"
#include "tape/activation.h"
#include "tape/attention.h"
#include "tape/checkpoint.h"
#include "tape/elementwise.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/view.h"

using namespace vramplan;

namespace {

struct EngineBench {
  DryBackend backend;
  Ledger ledger;
  Memory memory{backend, ledger};
  Tape tape{memory};
  Tensor leaf(const Dims& shape, DType t = DType::fp32) {
    Tensor x = memory.empty(shape, t, "leaf");
    x->requires_grad = true;
    return x;
  }
  int made(const char* op) const {
    int n = 0;
    for (const Event& e : ledger.events())
      n += e.kind == Event::Kind::allocate && std::strcmp(ledger.record(e.record).op, op) == 0;
    return n;
  }
};

}  // namespace

TEST_CASE("gradients that meet are added in place when the first is nobody else's") {
  EngineBench b;
  const Tensor x = b.leaf({8});
  const Tensor y = tanh(b.tape, x);
  const Tensor z = add(b.tape, tanh(b.tape, y), silu(b.tape, y));
  b.tape.backward(mean_all(b.tape, z));
  CHECK(b.made("add") == 1);  // the forward one
}

TEST_CASE("a gradient that comes out of a view is not added into: a third tensor") {
  // theory: of q + k + v the first sum is out of place, the second in place.
  EngineBench b;
  const Tensor x = b.leaf({2, 3, 4}), w = b.leaf({4, 4});
  const Tensor h = tanh(b.tape, x);
  const Tensor q = linear(b.tape, h, w, {}), k = linear(b.tape, h, w, {}), v = linear(b.tape, h, w, {});
  const Tensor y = add(b.tape, add(b.tape, q, k), v);
  const int before = b.made("add");
  b.tape.backward(mean_all(b.tape, y));
  // One sum of input gradients; of the weight's three, which also come out of views, one too.
  CHECK(b.made("add") - before == 2);
}

TEST_CASE("a parameter's first gradient is adopted, later ones are added to it") {
  EngineBench b;
  const Tensor w = b.leaf({5, 4}), x = b.leaf({2, 3, 4});
  for (int i = 0; i < 2; ++i) b.tape.backward(mean_all(b.tape, linear(b.tape, x, w, {})));
  CHECK(b.made("clone") == 0);
  CHECK(Tensor(w->grad).shape() == w.shape());
  const auto alive = b.ledger.alive(b.ledger.now());
  CHECK(alive.size() == 4);  // two leaves, two gradients
}

TEST_CASE("saved tensors go as soon as their node has run") {
  EngineBench b;
  const Tensor x = b.leaf({1000});
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = silu(b.tape, y);
  const Tensor loss = mean_all(b.tape, y);
  y.reset();
  const auto before = b.ledger.now();
  b.tape.backward(loss);
  // Saved: four inner results (the leaf is no extra; the fifth result is not kept). At most two gradients live beside
  // them.
  const Bytes at_start = b.ledger.live(before).requested;
  CHECK(at_start == Bytes(4000 * 5 + 4));
  CHECK(b.ledger.peak(before, b.ledger.now()).tally.requested == at_start + Bytes(2 * 4000 + 4));
  CHECK(b.ledger.live(b.ledger.now()).requested == Bytes(4000 + 4000 + 4));
}

TEST_CASE("what autocast keeps: a copy of the input for each product, of the weight once") {
  EngineBench b;
  const Tensor w = b.leaf({4, 4}), x = tanh(b.tape, b.leaf({2, 3, 4}));
  b.tape.enter_autocast(DType::bf16);
  const Tensor first = linear(b.tape, x, w, {}), second = linear(b.tape, x, w, {});
  CHECK(b.made("_to_copy") == 3);
  CHECK(first.dtype() == DType::bf16);
  b.tape.leave_autocast();
  b.tape.enter_autocast(DType::bf16);
  const Tensor third = linear(b.tape, x, w, {});
  CHECK(b.made("_to_copy") == 5);  // a new region, a new cast
  b.tape.leave_autocast();
}

TEST_CASE("non-reentrant recomputation stops at the last tensor needed") {
  EngineBench b;
  const Tensor x = b.leaf({64});
  const Segment segment = [&](const Tensor& h, const Arguments&) {
    return scale(b.tape, silu(b.tape, tanh(b.tape, h)), 2);
  };
  const Tensor y = checkpoint(b.tape, Recompute::non_reentrant, segment, x);
  b.tape.backward(mean_all(b.tape, y));
  CHECK(b.made("tanh") == 2);
  CHECK(b.made("silu") == 1);  // silu keeps its input: nothing after that is needed
  CHECK(b.made("mul") == 2);   // forward scale and its gradient
  EngineBench r;
  const Tensor z = r.leaf({64});
  const Segment whole = [&](const Tensor& h, const Arguments&) {
    return scale(r.tape, silu(r.tape, tanh(r.tape, h)), 2);
  };
  r.tape.backward(mean_all(r.tape, checkpoint(r.tape, Recompute::reentrant, whole, z)));
  CHECK(r.made("silu") == 2);
  CHECK(r.made("mul") == 3);
}

TEST_CASE("backward from what wants no gradient is a defect of the caller") {
  EngineBench b;
  CHECK_THROWS_AS(b.tape.backward(b.memory.empty({}, DType::fp32, "x")), std::logic_error);
}
