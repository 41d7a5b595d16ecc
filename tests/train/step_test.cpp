// Training steps against figures from outside: the reference's table measured with PyTorch 2.15, llm.c's tensor sizes,
// bytes per parameter.
#include <doctest/doctest.h>

#include <cstring>

#include "backend/dry.h"
#include "small_models.h"
#include "train/checkpoint_policy.h"
#include "train/trainer.h"
#include "train/words.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

ModelConfig llama_of_the_table(std::int64_t vocab, std::int64_t layers) {
  ModelConfig c;
  c.architecture = Architecture::llama;
  c.layers = layers;
  c.hidden = 256;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 64;
  c.ffn = 704;
  c.vocab = vocab;
  c.positions = 4096;
  return c;
}

/// Bytes of tensors made by `op` with this shape, in the first forward pass.
Bytes made(const Ledger& l, const StepMarks& s, const char* op, const Dims& shape, std::int64_t& number) {
  Bytes sum;
  for (auto i = s.micro[0].forward; i < s.micro[0].backward; ++i) {
    const Event& e = l.events()[i];
    if (e.kind != Event::Kind::allocate || std::strcmp(l.record(e.record).op, op) != 0 ||
        !(l.record(e.record).shape == shape))
      continue;
    sum += l.record(e.record).bytes;
    ++number;
  }
  return sum;
}

}  // namespace

TEST_CASE("2 + 2 + 12 and 2 + 4 + 12 bytes a parameter") {
  const ModelConfig c = llama_of_the_table(1024, 2);
  for (bool wide : {false, true}) {
    TrainOptions r = test::small_run(Precision::mixed_bf16);
    r.fp32_gradients = wide;
    r.optimizer.form = OptimizerForm::fused;
    DryBackend b;
    Trainer t(b, c, r);
    const StepMarks s = t.step();
    Bytes sum;
    for (const Ledger::Alive& a : t.ledger().alive(s.zero))
      if (a.category != Category::input && a.category != Category::temporary &&
          std::strcmp(t.ledger().record(a.record).op, "buffer") != 0 &&
          std::strcmp(t.ledger().record(a.record).op, "step") != 0)
        sum += t.ledger().record(a.record).bytes;
    CHECK(sum.count() == static_cast<std::uint64_t>(parameter_count(c)) * (wide ? 18 : 16));
  }
}

TEST_CASE("bytes of optimizer states a parameter") {
  // bitsandbytes: 2 bytes and two fp32 scales for 256 numbers, or 8 bytes; Lion half of it; Muon one state.
  ModelConfig c = llama_of_the_table(1024, 2);
  auto bytes = [&](const char* name, Precision p) {
    TrainOptions r = test::small_run(p);
    read_optimizer_word(r.optimizer, name);
    DryBackend b;
    Trainer t(b, c, r);
    t.step();
    std::uint64_t sum = 0;
    for (const Ledger::Alive& a : t.ledger().alive(t.ledger().now()))
      if (a.category == Category::optimizer_state) sum += t.ledger().record(a.record).bytes.count();
    return std::pair{sum, t.host_bytes().count()};
  };
  const std::int64_t n = parameter_count(c), norms = 5 * 256;  // too small for 8 bits
  const auto big = static_cast<std::uint64_t>(n - norms), small = static_cast<std::uint64_t>(norms);
  CHECK(bytes("adamw8bit", Precision::bf16).first == 2 * big + 8 * big / 256 + 8 * small + 2 * 1024);
  CHECK(bytes("lion8bit", Precision::fp32).first == big + 4 * big / 256 + 4 * small + 1024);
  CHECK(bytes("adamw32bit", Precision::bf16).first == 8 * (big + small));
  CHECK(bytes("lion", Precision::bf16).first == 4 * (big + small));
  const std::uint64_t unpaged = 2 * (2 * 128 + 2 * 256) * 256;  // q, k, v and o are below 100,000 numbers
  CHECK(bytes("paged-adamw32bit", Precision::bf16) == std::pair{8 * (small + unpaged), 8 * (big - unpaged)});
}

TEST_CASE("forward peak, held and backward peak of a small Llama, as PyTorch 2.15 has them") {
  // b=2 s=256 h=256 a=4 kv=2 f=704. Peaks are bytes above the parameters, with ids, labels (8192 B) and rotary buffers
  // (256 B); held is what forward adds to all of these. The last row's backward includes the product that softmax's
  // backward makes.
  struct Row {
    std::int64_t vocab, layers;
    AttentionForm attention;
    Precision precision;
    CheckpointKind kind;
    bool reentrant;
    std::uint64_t forward, held, backward;
  };
  const AttentionForm flash = AttentionForm::sdpa, eager = AttentionForm::eager;
  const CheckpointKind none = CheckpointKind::none, layer = CheckpointKind::per_layer;
  for (const Row& row : {Row{4096, 2, flash, Precision::bf16, none, false, 33663304, 21067832, 37849400},
                         Row{4096, 2, flash, Precision::bf16, layer, false, 22630680, 10035208, 26816776},
                         Row{4096, 2, flash, Precision::amp_bf16, none, false, 42182984, 29063224, 45844792},
                         Row{4096, 2, eager, Precision::bf16, none, false, 40462616, 27867144, 44648712},
                         Row{4096, 4, flash, Precision::bf16, none, false, 45222264, 32626792, 49408360},
                         Row{4096, 4, flash, Precision::amp_bf16, none, false, 59312504, 46192744, 62974312},
                         Row{64, 4, flash, Precision::bf16, none, false, 25295200, 24369256, 26370920},
                         Row{64, 4, flash, Precision::bf16, layer, true, 3811584, 2301960, 12904224},
                         Row{64, 4, flash, Precision::bf16, layer, false, 3811584, 2301960, 12642080},
                         Row{64, 4, flash, Precision::amp_bf16, layer, false, 10987776, 3710984, 19952928},
                         Row{64, 4, eager, Precision::bf16, layer, false, 7940352, 2564104, 16761096}}) {
    CAPTURE(row.vocab);
    CAPTURE(row.layers);
    CAPTURE(row.held);
    const ModelConfig c = llama_of_the_table(row.vocab, row.layers);
    TrainOptions r;
    r.micro_batch = 2;
    r.seq = 256;
    r.precision = row.precision;
    r.attention = row.attention;
    r.checkpoint = {row.kind, 0, row.reentrant};
    DryBackend backend;
    Trainer trainer(backend, c, r);
    const Ledger& l = trainer.ledger();
    const Bytes ready = l.live(trainer.ready()).requested, base = ready - Bytes(8192 + 256);
    const StepMarks s = trainer.step();
    CHECK((l.peak(s.micro[0].forward, s.micro[0].backward).tally.requested - base).count() == row.forward);
    CHECK((l.live(s.micro[0].backward).requested - ready).count() == row.held);
    CHECK((l.peak(s.micro[0].backward, s.clip).tally.requested - base).count() == row.backward);
  }
}

TEST_CASE("GPT-2 124M makes the tensors that llm.c lists, at their sizes") {
  // llm.c train_gpt2.c fill_in_activation_sizes, B=4 T=64: qkv L B T 3C, att L B NH T T, fch L B T 4C, logits B T V.
  ModelConfig c = test::small_gpt2();
  c.layers = 12, c.hidden = 768, c.heads = c.kv_heads = 12, c.head_dim = 64, c.ffn = 3072, c.vocab = 50304,
  c.positions = 1024;
  TrainOptions r;
  r.micro_batch = 4;
  r.seq = 64;
  r.precision = Precision::fp32;
  r.attention = AttentionForm::eager;
  DryBackend backend;
  Trainer trainer(backend, c, r);
  const StepMarks s = trainer.step();
  std::int64_t n = 0;
  CHECK(made(trainer.ledger(), s, "addmm", {256, 2304}, n).count() == 4 * 12 * 4 * 64 * 3 * 768);
  CHECK(n == 12);
  n = 0;
  CHECK(made(trainer.ledger(), s, "_softmax", {4, 12, 64, 64}, n).count() == 4 * 12 * 4 * 12 * 64 * 64);
  CHECK(n == 12);
  n = 0;
  CHECK(made(trainer.ledger(), s, "addmm", {256, 3072}, n).count() == 4 * 12 * 4 * 64 * 4 * 768);
  CHECK(n == 12);
  n = 0;
  CHECK(made(trainer.ledger(), s, "mm", {256, 50304}, n).count() == 4 * 4 * 64 * 50304);
}

TEST_CASE("the textbook block holds 34 sbh + 5 a s^2 b and its precisions, layer by layer") {
  // Korthikanti et al. 2022, and theory 2.3 measured: 32 + 2as/h without dropout; fp32 66 + 9as/h and 64 + 4as/h; AMP
  // with separate q, k, v 42 + 7as/h and 40 + 6as/h. LayerNorm statistics add 16 bytes a token.
  struct Row {
    Precision precision;
    double dropout;
    std::uint64_t per_token_channel, per_score;
  };
  for (const Row& row :
       {Row{Precision::bf16, 0.1, 34, 5}, Row{Precision::bf16, 0, 32, 2}, Row{Precision::fp16, 0.1, 34, 5},
        Row{Precision::fp32, 0.1, 66, 9}, Row{Precision::fp32, 0, 64, 4}, Row{Precision::amp_bf16, 0.1, 42, 7},
        Row{Precision::amp_bf16, 0, 40, 6}}) {
    CAPTURE(row.per_token_channel);
    CAPTURE(row.per_score);
    ModelConfig c = test::small_textbook(row.dropout);
    c.hidden = 64, c.ffn = 256, c.heads = c.kv_heads = 4, c.head_dim = 16;
    TrainOptions r = test::small_run(row.precision);
    r.seq = 24;
    auto held = [&](std::int64_t layers) {
      c.layers = layers;
      DryBackend backend;
      Trainer trainer(backend, c, r);
      const StepMarks s = trainer.step();
      return trainer.ledger().live(s.micro[0].backward).requested - trainer.ledger().live(trainer.ready()).requested;
    };
    const std::uint64_t b = 2, s = 24, h = 64, a = 4;
    std::uint64_t expected = row.per_token_channel * s * b * h + row.per_score * a * s * s * b + 16 * b * s;
    if (row.precision == Precision::amp_bf16)
      expected += 2 * 12 * h * h;  // the cast weights; nobody keeps the biases' casts
    CHECK((held(3) - held(2)).count() == expected);
  }
}

TEST_CASE("kept score copies and the dropout mask's type can be overridden") {
  const std::uint64_t scores = 2 * 2 * 8 * 8;  // b a s s of one layer
  for (const ModelConfig& c : {test::small_textbook(0.1), test::small_gpt2(0.1), test::small_free(0.1)}) {
    TrainOptions r = test::small_run(Precision::bf16);
    auto held = [&] {
      DryBackend backend;
      Trainer trainer(backend, c, r);
      const StepMarks s = trainer.step();
      return trainer.ledger().live(s.micro[0].backward).requested.count();
    };
    const std::uint64_t usual = held();
    r.score_copies = 3;
    CHECK(held() == usual + 4 * 3 * 2 * scores);
    r.score_copies = 0;
    r.dropout_mask = DType::fp32;
    CHECK(held() == usual + 4 * 3 * scores);
  }
}

TEST_CASE("bytes per parameter between steps") {
  struct Row {
    Precision precision;
    Optimizer optimizer;
    std::uint64_t bytes;
  };
  const Optimizer adam{}, sgd{OptimizerKind::sgd, OptimizerForm::foreach, 1e-3, 0, 0},
      momentum{OptimizerKind::sgd, OptimizerForm::foreach, 1e-3, 0.9, 0};
  for (const Row& row :
       {Row{Precision::fp32, adam, 12}, Row{Precision::bf16, adam, 6}, Row{Precision::amp_bf16, adam, 12},
        Row{Precision::mixed_bf16, adam, 14}, Row{Precision::fp32, sgd, 4}, Row{Precision::fp32, momentum, 8},
        Row{Precision::mixed_fp16, momentum, 10}}) {
    CAPTURE(row.bytes);
    const ModelConfig c = test::small_free();
    TrainOptions r = test::small_run(row.precision);
    r.optimizer = row.optimizer;
    DryBackend backend;
    Trainer trainer(backend, c, r);
    const StepMarks s = trainer.step();
    Bytes states;
    for (const auto& a : trainer.ledger().alive(s.end))
      if (a.category == Category::parameter || a.category == Category::optimizer_state ||
          a.category == Category::master_weight)
        states += trainer.ledger().record(a.record).bytes;
    CHECK(states.count() == row.bytes * static_cast<std::uint64_t>(parameter_count(c)));
  }
}

TEST_CASE("layers are cut as the frameworks cut them") {
  auto sizes = [](const Checkpointing& p, std::int64_t layers) {
    std::vector<std::int64_t> out;
    for (const LayerRun& r : cut_layers(p, layers)) out.push_back(r.checkpointed ? r.count : -r.count);
    return out;
  };
  using V = std::vector<std::int64_t>;
  CHECK(sizes({}, 7) == V{-7});
  CHECK(sizes({CheckpointKind::segments, 3, false}, 7) == V{3, 2, 2});
  CHECK(sizes({CheckpointKind::per_layer, 0, false}, 3) == V{1, 1, 1});
  CHECK(sizes({CheckpointKind::sequential, 3, false}, 8) == V{2, 2, -4});
  CHECK(sizes({CheckpointKind::sequential, 5, false}, 7) == V{1, 1, 1, 1, -3});
  CHECK(sizes({CheckpointKind::sequential, 1, false}, 7) == V{-7});
  CHECK_THROWS_AS(cut_layers({CheckpointKind::segments, 8, false}, 7), UserError);
  CHECK_THROWS_AS(cut_layers({CheckpointKind::segments, 0, false}, 7), UserError);
}

TEST_CASE("held bytes with N segments are boundaries and the plain rest") {
  for (const test::NamedModel& m : test::small_models()) {
    CAPTURE(m.name);
    const TrainOptions r = test::small_run(Precision::bf16);
    auto held = [&](const Checkpointing& k) {
      TrainOptions o = r;
      o.checkpoint = k;
      DryBackend backend;
      Trainer trainer(backend, m.config, o);
      const StepMarks s = trainer.step();
      return trainer.ledger().live(s.micro[0].backward).requested - trainer.ledger().live(trainer.ready()).requested;
    };
    const Bytes boundary = Bytes(2 * 2 * 8 * 16) * (m.config.two_stacks() ? 2 : 1);  // b s h in bf16
    const Bytes one = held({CheckpointKind::segments, 1, false});
    for (std::int64_t n = 2; n <= m.config.layers; ++n)
      CHECK(held({CheckpointKind::segments, n, false}) == one + boundary * static_cast<std::uint64_t>(n - 1));
    CHECK(held({CheckpointKind::segments, m.config.layers, false}) == held({CheckpointKind::per_layer, 0, false}));
  }
}
