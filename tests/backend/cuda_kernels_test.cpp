// Every kernel of the cuda backend against the host's arithmetic: shapes that fill no tile, any layout, every type.
#include <doctest/doctest.h>

#include "backend/cuda_kernels.h"
#include "backend/shared_library.h"
#include "cuda_rig.h"
#include "vramplan/base/error.h"

using namespace vramplan;
using test::Both;

namespace {

using Twins = Both::Twins;
constexpr DType kReal[]{DType::fp32, DType::bf16, DType::fp16};

/// One call on both backends; `op` takes a backend and picks its side of twins.
template <class Op>
void on_both(Both& b, Op op) {
  op(static_cast<Backend&>(b.host), [](const Twins& t) -> const Tensor& { return t.host; });
  op(static_cast<Backend&>(b.cuda), [](const Twins& t) -> const Tensor& { return t.cuda; });
}

}  // namespace

TEST_CASE("products of any shape, layout, type and batch") {
  for (const char* capability : {"90", "75"}) {
    Both b(capability);
    struct Shape {
      std::int64_t batch, n, k, m;
    };
    for (const Shape& s : {Shape{1, 3, 5, 7}, {1, 130, 40, 129}, {1, 65, 33, 200}, {2, 17, 64, 31}, {3, 128, 16, 8}})
      for (DType left : kReal)
        for (DType right : kReal)
          for (const int turned : {0, 1, 2, 3}) {
            CAPTURE(s.n);
            CAPTURE(turned);
            CAPTURE(name_of(left));
            CAPTURE(name_of(right));
            auto shape = [&](std::int64_t rows, std::int64_t columns, bool turn) {
              return turn ? Dims{s.batch, columns, rows} : Dims{s.batch, rows, columns};
            };
            Twins x = b.random(shape(s.n, s.k, turned & 1), left), w = b.random(shape(s.k, s.m, turned & 2), right);
            if (turned & 1) x = x.transposed();
            if (turned & 2) w = w.transposed();
            const Twins y = b.random({s.batch, s.n, s.m}, left);
            const double beta = turned == 3 ? 0.5 : 0;
            on_both(b, [&](Backend& on, auto side) { on.matmul(side(y), side(x), side(w), 1.5, beta); });
            b.compare(y, left == DType::fp32 && right == DType::fp32 ? 1e-5 : 5e-3);
          }
  }
}

TEST_CASE("products by cuBLAS: what it takes it makes, the rest our own kernel") {
  Both b;
  const Cublas cublas;
  CudaBackend with(b.driver, {{}, &cublas, Bytes(8 << 20)});
  for (DType left : kReal)
    for (DType right : kReal)
      for (const int turned : {0, 1, 2, 3})
        for (const std::int64_t rows : {1, 9}) {
          CAPTURE(turned);
          const auto shape = [&](std::int64_t n, std::int64_t m, bool turn) {
            return turn ? Dims{3, m, n} : Dims{3, n, m};
          };
          Twins x = b.random(shape(rows, 6, turned & 1), left), w = b.random(shape(6, 5, turned & 2), right);
          if (turned & 1) x = x.transposed();
          if (turned & 2) w = w.transposed();
          const Twins y = b.random({3, rows, 5}, left);
          b.host.matmul(y.host, x.host, w.host, 0.5, 1);
          with.matmul(y.cuda, x.cuda, w.cuda, 0.5, 1);
          b.compare(y, left == DType::fp32 && right == DType::fp32 ? 1e-5 : 5e-3);
        }
  CHECK(with.memory().allocator().peak_allocated() == Bytes(8 << 20));
  CHECK(with.memory().allocator().allocated() == Bytes());
}

TEST_CASE("what would make fp32 something else is named and taken away") {
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1);
  CHECK(neutralise_fp32_overrides() ==
        std::vector<std::string>{"NVIDIA_TF32_OVERRIDE=1", "CUBLAS_EMULATE_SINGLE_PRECISION=1"});
  CHECK(std::string(getenv("NVIDIA_TF32_OVERRIDE")) == "0");
  CHECK(getenv("CUBLAS_EMULATE_SINGLE_PRECISION") == nullptr);
  unsetenv("NVIDIA_TF32_OVERRIDE");
}

TEST_CASE("a product of two dimensions, of parts of wider rows") {
  Both b;
  for (DType t : kReal) {
    const Twins wide = b.random({40, 96}, t), w = b.random({32, 50}, t), y = b.random({40, 50}, t);
    const Twins x = wide.seen({40, 32}, {96, 1}, 17);  // its rows start at odd places
    on_both(b, [&](Backend& on, auto side) { on.matmul(side(y), side(x), side(w), 1, 0); });
    b.compare(y, t == DType::fp32 ? 1e-5 : 5e-3);
  }
}

TEST_CASE("elementwise operations, broadcast, strided, and between types") {
  Both b;
  for (int op = 0; op <= static_cast<int>(Unary::logical_not); ++op)
    for (DType t : kReal) {
      CAPTURE(op);
      const Unary u = static_cast<Unary>(op);
      const Twins x = b.random({3, 5, 300}, t), y = b.random({3, 300, 5}, DType::fp32);
      if (u == Unary::sqrt || u == Unary::rsqrt || u == Unary::pow)
        on_both(b, [&](Backend& on, auto side) { on.binary(Binary::mul, side(x), side(x), side(x)); });
      on_both(b, [&](Backend& on, auto side) { on.unary(u, side(y), side(x.transposed()), 1.5); });
      b.compare(y, 1e-5);
    }
  for (int op = 0; op <= static_cast<int>(Binary::relu_backward); ++op) {
    CAPTURE(op);
    const Twins x = b.random({4, 1, 70}), z = b.random({5, 70}, DType::bf16), y = b.random({4, 5, 70});
    on_both(b, [&](Backend& on, auto side) { on.binary(static_cast<Binary>(op), side(y), side(x), side(z)); });
    b.compare(y, 1e-5);
    on_both(b, [&](Backend& on, auto side) { on.accumulate(side(y), side(z), -0.25); });
    b.compare(y, 1e-5);
  }
  for (DType t : {DType::int64, DType::boolean, DType::int8, DType::fp16}) {
    const Twins from = b.random({600}, DType::fp32), y = b.random({600}, t, t == DType::int64 ? 9 : 0),
                back = b.random({600});
    on_both(b, [&](Backend& on, auto side) { on.arange(side(y), t == DType::int8 ? -100 : 3); });
    on_both(b, [&](Backend& on, auto side) { on.unary(Unary::copy, side(back), side(y), 0); });
    b.compare(back, 1e-7);
  }
}

TEST_CASE("tokens, triangles, masks: the same numbers as on the host") {
  Both b;
  const Twins ids = b.random({7, 100}, DType::int64, 2), mask = b.random({9, 9}, DType::boolean), x = b.random({2000}),
              y = b.random({2000}), kept = b.random({2000}, DType::boolean);
  on_both(b, [&](Backend& on, auto side) {
    on.tokens(side(ids), 50257, 3);
    on.tril(side(mask));
    on.dropout(side(y), side(kept), side(x), 0.3, {5, 11});
  });
  for (const Twins& t : {ids, mask, kept}) {
    CHECK(b.cuda.checksum(t.cuda) == b.host.checksum(t.host));
    b.compare(t, 1e-9);
  }
  b.compare(y, 1e-7);
}

TEST_CASE("sums over any dimensions") {
  Both b;
  for (const Dims& to : {Dims{1, 1, 1, 1}, Dims{3, 1, 5, 70}, Dims{1, 1, 1, 70}, Dims{3, 4, 5, 1}, Dims{1, 4, 1, 1}})
    for (DType t : kReal) {
      const Twins x = b.random({3, 4, 5, 70}, t), y = b.random(to, t);
      on_both(b, [&](Backend& on, auto side) { on.sum(side(y), side(x), 0.5); });
      b.compare(y, t == DType::fp32 ? 1e-5 : 5e-3);
    }
  const Twins x = b.random({70, 300}, DType::bf16), n = b.random({1}), clip = b.random({1});
  on_both(b, [&](Backend& on, auto side) {
    on.norm(side(n), side(x));
    on.clip_coefficient(side(clip), side(n), 1);
  });
  b.compare(n, 1e-5);
  b.compare(clip, 1e-5);
}

TEST_CASE("softmax, norms and losses, forward and backward") {
  Both b;
  for (DType t : kReal)
    for (const std::int64_t width : {1, 40, 700}) {
      CAPTURE(width);
      const std::int64_t rows = 6;
      const Twins x = b.random({rows, width}, t), y = b.random({rows, width}, t), dy = b.random({rows, width}, t),
                  dx = b.random({rows, width}, t), w = b.random({width}, t), bias = b.random({width}, t),
                  dw = b.random({width}, t), db = b.random({width}, t), mean = b.random({rows}),
                  rstd = b.random({rows});
      for (const bool log : {false, true}) {
        on_both(b, [&](Backend& on, auto side) {
          on.softmax(side(y), side(x), log);
          on.softmax_backward(side(dx), side(dy), side(y), log);
        });
        b.compare(y), b.compare(dx);
      }
      if (width == 1) continue;
      on_both(b, [&](Backend& on, auto side) {
        on.layer_norm(side(y), side(mean), side(rstd), side(x), side(w), side(bias), 1e-5);
        on.layer_norm_backward(side(dx), side(dw), side(db), side(dy), side(x), side(mean), side(rstd), side(w));
      });
      for (const Twins& r : {y, mean, rstd, dx, dw, db}) b.compare(r);
      on_both(b, [&](Backend& on, auto side) {
        on.rms_norm(side(y), side(rstd), side(x), side(w), 1e-6);
        on.rms_norm_backward(side(dx), side(dw), side(dy), side(x), side(rstd), side(w));
      });
      for (const Twins& r : {y, rstd, dx, dw}) b.compare(r);
      const Twins target = b.random({rows}, DType::int64, width), loss = b.random({1}), total = b.random({1}),
                  losses = b.random({rows}), picked = b.random({rows, 1}, t);
      const std::int64_t ignored = -100;
      target.host.data<std::int64_t>()[2] = ignored;
      b.driver.upload(reinterpret_cast<std::uint64_t>(target.cuda->storage->data) + 16, &ignored, sizeof ignored);
      on_both(b, [&](Backend& on, auto side) {
        on.softmax(side(y), side(x), true);
        on.nll(side(loss), side(total), side(y), side(target));
        on.nll_backward(side(dx), side(loss), side(target), side(total));
        on.cross_entropy_gradient(side(dy), side(losses), side(target), side(target));
      });
      for (const Twins& r : {loss, total, dx, dy, losses}) b.compare(r);
    }
}

TEST_CASE("embeddings: every token's gradient, tokens that come twice and never") {
  Both b;
  for (DType t : kReal) {
    const Twins w = b.random({19, 300}, t), ids = b.random({2, 300}, DType::int64, 11), y = b.random({2, 300, 300}, t),
                dw = b.random({19, 300}, t), index = b.random({600, 1}, DType::int64, 300), one = b.random({600, 1}, t),
                flat = y.seen({600, 300}, {300, 1});
    on_both(b, [&](Backend& on, auto side) {
      on.embedding(side(y), side(w), side(ids));
      on.embedding_backward(side(dw), side(y), side(ids));
      on.gather(side(one), side(flat), side(index));
      on.scatter(side(flat), side(one), side(index));
    });
    for (const Twins& r : {y, dw, one}) b.compare(r);
  }
}

TEST_CASE("attention in tiles: heads of any width, grouped, masked, biased, with dropout") {
  Both b;
  struct Case {
    std::int64_t heads, kv, s, d;
    bool causal, biased;
    double dropout;
  };
  for (const Case& c : {Case{2, 2, 40, 8, true, false, 0},
                        {4, 2, 33, 64, true, false, 0},
                        {2, 1, 70, 80, false, true, 0},
                        {2, 2, 20, 200, true, false, 0.25},
                        {1, 1, 32, 128, false, false, 0.5}})
    for (DType t : kReal) {
      CAPTURE(c.d);
      CAPTURE(name_of(t));
      // As a model has them: [b, s, heads, d] in memory, seen as [b, heads, s, d].
      auto heads = [&](std::int64_t n) {
        return b.random({2, c.s, n, c.d}, t).seen({2, n, c.s, c.d}, {c.s * n * c.d, c.d, n * c.d, 1});
      };
      const Twins q = heads(c.heads), k = heads(c.kv), v = heads(c.kv), out = heads(c.heads), dout = heads(c.heads),
                  dq = heads(c.heads), dk = heads(c.kv), dv = heads(c.kv), lse = b.random({2, c.heads, c.s + 3}),
                  bias = b.random({2, 1, c.s, c.s}, t);
      const AttentionArgs args{0.3, c.dropout, c.causal, {3, 9}};
      on_both(b, [&](Backend& on, auto side) {
        const Tensor& with = c.biased ? side(bias) : Tensor();
        on.fill(side(lse), 0);
        on.attention(side(out), side(lse), side(q), side(k), side(v), with, args);
        on.attention_backward(side(dq), side(dk), side(dv), side(dout), side(q), side(k), side(v), with, side(out),
                              side(lse), args);
      });
      b.compare(lse, 1e-5);
      for (const Twins& r : {out, dq, dk, dv}) b.compare(r);
    }
}

TEST_CASE("heads too wide for the tiles are refused") {
  Both b;
  const Twins q = b.random({1, 1, 4, 300});
  CHECK_THROWS_AS(b.cuda.attention(q.cuda, {}, q.cuda, q.cuda, q.cuda, {}, {}), UserError);
}

TEST_CASE("weights in few bits") {
  Both b;
  const Twins codes4 = b.random({64 * 20 / 2, 1}, DType::int8), codes8 = b.random({20, 64}, DType::int8),
              scales = b.random({20}), coded_scales = b.random({20}, DType::int8), second = b.random({1}),
              offset = b.random({1}), y = b.random({20, 64}, DType::bf16), x = b.random({5, 64}, DType::bf16),
              z = b.random({5, 20}, DType::bf16), bias = b.random({20}, DType::bf16);
  on_both(b, [&](Backend& on, auto side) { on.dequantise(side(y), {side(codes4), side(scales), {}, {}}); });
  b.compare(y);
  on_both(b, [&](Backend& on, auto side) {
    on.dequantise(side(y), {side(codes4), side(coded_scales), side(second), side(offset)});
  });
  b.compare(y);
  on_both(b, [&](Backend& on, auto side) {
    on.dequantise(side(y), {side(codes8), side(scales), {}, {}});
    on.matmul_8bit(side(z), side(x), {side(codes8), side(scales), {}, {}}, side(bias));
  });
  b.compare(y), b.compare(z);
}

TEST_CASE("the text of the kernels is what NVRTC takes, for every card") {
  unsetenv("PROBE_STAND_IN_NVRTC");
  if (!SharedLibrary({"libnvrtc.so.13", "libnvrtc.so.12"}, "").opened()) {
    MESSAGE("SKIPPED: no NVRTC here");
    return;
  }
  CHECK(compile_kernels(kernels_text(), 90).size() > 100'000);
  CHECK_THROWS_WITH_AS(compile_kernels("nonsense", 90), doctest::Contains("nonsense"), UserError);
}
