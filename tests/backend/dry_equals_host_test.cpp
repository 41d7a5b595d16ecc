// The ledger of a dry run equals that of a real one, event by event.
#include <doctest/doctest.h>

#include <cmath>

#include "backend/dry.h"
#include "backend/host.h"
#include "backend/host_number.h"
#include "small_models.h"
#include "train/trainer.h"
#include "train/words.h"

using namespace vramplan;

namespace {

void compare(const ModelConfig& c, const TrainOptions& r) {
  DryBackend dry;
  HostBackend host;
  Trainer a(dry, c, r), b(host, c, r);
  for (int i = 0; i < 2; ++i) a.step(), b.step();
  CHECK(a.ledger().now() == b.ledger().now());
  CHECK(same_events(a.ledger(), b.ledger(), a.ledger().now()));
  CHECK(std::isfinite(host::load(b.loss()->storage->data, b.loss().dtype(), b.loss()->offset)));
}

}  // namespace

TEST_CASE("styles x attention x precision x N x variant") {
  for (const test::NamedModel& m : test::small_models())
    for (AttentionForm a : {AttentionForm::eager, AttentionForm::sdpa, AttentionForm::math})
      for (Precision p : {Precision::fp32, Precision::bf16, Precision::fp16, Precision::amp_bf16, Precision::amp_fp16,
                          Precision::mixed_bf16})
        for (const Checkpointing& k :
             {Checkpointing{}, Checkpointing{CheckpointKind::per_layer, 0, false},
              Checkpointing{CheckpointKind::segments, 3, true}, Checkpointing{CheckpointKind::segments, 2, false},
              Checkpointing{CheckpointKind::sequential, 2, true}}) {
          CAPTURE(m.name);
          CAPTURE(static_cast<int>(a));
          CAPTURE(static_cast<int>(p));
          CAPTURE(k.n);
          TrainOptions r = test::small_run(p, a);
          r.checkpoint = k;
          compare(m.config, r);
        }
}

TEST_CASE("some layers, parts of layers, boundaries on the host") {
  std::vector<Checkpointing> ways{{CheckpointKind::every, 2, false},
                                  {CheckpointKind::first, 1, true, {}, false},
                                  {CheckpointKind::cuts, 0, false, {}, false, {2, -1, 1}},
                                  {CheckpointKind::per_layer, 0, true, {}, true},
                                  {CheckpointKind::segments, 2, false, {}, true}};
  for (const PartWord& p : kParts) {
    ways.push_back({CheckpointKind::selective, 0, false});
    ways.back().parts.*p.part = true;
  }
  for (const test::NamedModel& m : test::small_models())
    for (AttentionForm a : {AttentionForm::eager, AttentionForm::sdpa})
      for (Precision p : {Precision::fp32, Precision::amp_bf16})
        for (const Checkpointing& k : ways) {
          if (!m.config.decoder() && k.kind == CheckpointKind::selective) continue;
          if (m.config.two_stacks() && k.on_host) continue;
          CAPTURE(m.name);
          CAPTURE(checkpoint_word(k));
          TrainOptions r = test::small_run(p, a);
          r.checkpoint = k;
          compare(m.config, r);
        }
}

TEST_CASE("optimizers, accumulation, clipping, outputs kept") {
  for (OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd, OptimizerKind::adafactor})
    for (OptimizerForm form : {OptimizerForm::foreach, OptimizerForm::for_loop, OptimizerForm::fused})
      for (Precision p : {Precision::fp32, Precision::mixed_bf16}) {
        TrainOptions r = test::small_run(p);
        r.optimizer = {kind, form, 1e-3, 0.9, 0.1};
        r.accumulate = 2;
        r.clip = 0.5;
        r.keeps_output = true;
        compare(test::small_llama(), r);
      }
}

TEST_CASE("every named optimizer, in step and in backward, with an averaged copy") {
  for (const Word<OptimizerWord>& w : kOptimizers)
    for (const ModelConfig& c : {test::small_llama(), test::small_gpt2()})
      for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16, Precision::mixed_bf16}) {
        CAPTURE(w.name);
        TrainOptions r = test::small_run(p);
        CHECK(read_optimizer_word(r.optimizer, w.name));
        r.ema = true;
        compare(c, r);
        r.optimizer.amsgrad = r.optimizer.states == StateStorage::as_parameter && w.name.starts_with("adam");
        r.optimizer.in_backward = r.optimizer.kind != OptimizerKind::muon;
        compare(c, r);
        r.optimizer.in_backward = r.optimizer.amsgrad = false;
        r.optimizer.on_host = true;
        compare(c, r);
      }
}

TEST_CASE("a scaled loss, and gradients as without") {
  for (const OptimizerForm form : {OptimizerForm::foreach, OptimizerForm::for_loop, OptimizerForm::fused})
    for (const bool clipped : {false, true}) {
      const ModelConfig model = test::small_llama();
      TrainOptions r = test::small_run(Precision::amp_fp16);
      r.optimizer.kind = OptimizerKind::sgd;
      r.optimizer.form = form;
      if (clipped) r.clip = 0.5;
      r.accumulate = 2;
      HostBackend plain_host, scaled_host;
      Trainer plain(plain_host, model, r);
      r.grad_scaler = true;
      compare(model, r);
      Trainer scaled(scaled_host, model, r);
      plain.step(), scaled.step();
      for (std::size_t i = 0; i < plain.weights().trainable.size(); ++i) {
        const Tensor &a = plain.weights().trainable[i].tensor, &b = scaled.weights().trainable[i].tensor;
        for (std::int64_t k = 0; k < a.numel(); ++k)
          CHECK(std::abs(a.data<float>()[k] - b.data<float>()[k]) < 1e-5);  // fp16 rounds elsewhere
      }
    }
}

TEST_CASE("gradients that stay, caches, evaluations, buckets") {
  for (const ModelConfig& c : {test::small_llama(), test::small_gpt2(0.25), test::small_mistral()})
    for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16})
      for (bool views : {false, true}) {
        TrainOptions r = test::small_run(p);
        r.zero_in_place = !views;
        r.evaluate = r.use_cache = r.ddp = true;
        r.bucket_views = views;
        compare(c, r);
        r.use_cache = false;
        r.accumulate = 2;
        r.checkpoint = {CheckpointKind::per_layer, 0, false};
        compare(c, r);
      }
}

TEST_CASE("adapters on frozen models") {
  for (const ModelConfig& c : {test::small_llama(), test::small_mistral(), test::small_qwen2(), test::small_free()})
    for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16})
      for (const Checkpointing& k : {Checkpointing{}, Checkpointing{CheckpointKind::per_layer, 0, false},
                                     Checkpointing{CheckpointKind::segments, 2, true}}) {
        TrainOptions r = test::small_run(p, AttentionForm::sdpa);
        r.lora = Lora{3, {"q_proj", "down_proj"}, 0.25, true};
        r.checkpoint = k;
        compare(c, r);
        r.lora->saved = {"embed_tokens", "lm_head"};
        compare(c, r);
      }
}

TEST_CASE("DoRA, with and without dropout, and adapters on GPT-2") {
  for (const ModelConfig& c : {test::small_qwen2(), test::small_gpt2()})
    for (Precision p : {Precision::fp32, Precision::fp16, Precision::amp_bf16})
      for (const double dropout : {0.0, 0.25})
        for (const Checkpointing& k : {Checkpointing{}, Checkpointing{CheckpointKind::per_layer, 0, false},
                                       Checkpointing{CheckpointKind::segments, 2, true}}) {
          TrainOptions r = test::small_run(p, AttentionForm::sdpa);
          r.lora = Lora{3, {"all-linear"}, dropout, p != Precision::fp16};
          r.checkpoint = k;
          compare(c, r);
          r.lora->dora = true;
          r.evaluate = true;
          compare(c, r);
          if (c.architecture == Architecture::gpt2) continue;
          r.quant = Quantisation{QuantKind::nf4, true, dropout > 0};
          compare(c, r);
          r.quant = Quantisation{QuantKind::int8};
          compare(c, r);
        }
}

TEST_CASE("virtual tokens: prompts and prefixes") {
  for (const ModelConfig& c : {test::small_gpt2(0.25), test::small_llama(), test::small_mistral(), test::small_qwen2()})
    for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_fp16})
      for (AttentionForm a : {AttentionForm::eager, AttentionForm::sdpa, AttentionForm::math})
        for (const PromptTuning& prompt : {PromptTuning{3}, PromptTuning{3, true}, PromptTuning{5, true, 7}}) {
          TrainOptions r = test::small_run(p, a);
          r.prompt = prompt;
          r.use_cache = prompt.projection > 0;
          compare(c, r);
          if (prompt.prefix) continue;
          r.checkpoint = {CheckpointKind::segments, 2, true};
          compare(c, r);
          r.quant = Quantisation{QuantKind::nf4};
          if (c.architecture != Architecture::gpt2) compare(c, r);
        }
}

TEST_CASE("gradients added up in fp32") {
  for (OptimizerForm form : {OptimizerForm::foreach, OptimizerForm::for_loop, OptimizerForm::fused}) {
    TrainOptions r = test::small_run(Precision::mixed_bf16);
    r.fp32_gradients = true;
    r.optimizer.form = form;
    r.accumulate = 2;
    compare(test::small_llama(), r);
  }
}

TEST_CASE("adapters on models in few bits") {
  for (QuantKind kind : {QuantKind::nf4, QuantKind::int8})
    for (bool doubled : {false, true})
      for (bool upcast : {false, true})
        for (Precision p : {Precision::fp32, Precision::bf16, Precision::fp16, Precision::amp_bf16})
          for (const Checkpointing& k : {Checkpointing{}, Checkpointing{CheckpointKind::per_layer, 0, false},
                                         Checkpointing{CheckpointKind::segments, 2, true}}) {
            if (doubled && kind == QuantKind::int8) continue;
            TrainOptions r = test::small_run(p, AttentionForm::sdpa);
            r.lora = Lora{3, {"all-linear"}, 0.25, true};
            r.quant = Quantisation{kind, doubled, upcast};
            r.checkpoint = k;
            compare(test::small_qwen2(), r);
          }
}

TEST_CASE("loss heads") {
  for (const Word<LossForm>& w : kLosses)
    for (const ModelConfig& c : {test::small_llama(), test::small_gpt2()})
      for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_bf16}) {
        if (w.value == LossForm::masked || w.value == LossForm::sequence_to_sequence) continue;  // encoders': above
        if (w.value == LossForm::fused_linear && p == Precision::amp_bf16) continue;
        CAPTURE(w.name);
        TrainOptions r = test::small_run(p);
        r.loss = {w.value, 3, true};
        const ModelConfig model = classifies(w.value) ? classifier(c, 5) : c;
        compare(model, r);
        r.keeps_output = true;
        r.checkpoint = {CheckpointKind::per_layer, 0, false};
        compare(model, r);
      }
}

TEST_CASE("frozen layers, adapters on encoders and on two stacks, targets of another length") {
  for (const test::NamedModel& m : test::small_models())
    for (Precision p : {Precision::fp32, Precision::amp_bf16})
      for (const Checkpointing& k : {Checkpointing{}, Checkpointing{CheckpointKind::per_layer, 0, true},
                                     Checkpointing{CheckpointKind::segments, 2, false}}) {
        if (m.config.architecture == Architecture::textbook) continue;
        CAPTURE(m.name);
        CAPTURE(checkpoint_word(k));
        TrainOptions r = test::small_run(p);
        r.checkpoint = k;
        if (m.config.two_stacks()) {
          r.target_seq = 5;
          compare(m.config, r);
        } else {
          r.frozen_layers = 2;
          compare(m.config, r);
          r.input_grads = k.reentrant;
          compare(m.config, r);
          r.frozen_layers.reset();
        }
        r.input_grads = true;
        r.lora = Lora{3, {"all-linear"}, 0.25};
        if (!m.config.two_stacks())
          for (const char* embedding : {"embed_tokens", "wte", "word_embeddings"})
            r.lora->targets.emplace_back(embedding);
        compare(m.config, r);
      }
}

TEST_CASE("encoders that classify") {
  for (Architecture a : {Architecture::bert, Architecture::roberta, Architecture::distilbert})
    for (LossForm form : {LossForm::classification, LossForm::multi_label, LossForm::regression})
      for (std::int64_t labels : {1, 5})
        for (Precision p : {Precision::fp32, Precision::bf16, Precision::amp_fp16}) {
          CAPTURE(static_cast<int>(a));
          CAPTURE(static_cast<int>(form));
          ModelConfig c = classifier(test::small_encoder(a, 0.25), labels);
          c.classifier_dropout = 0.25;
          TrainOptions r = test::small_run(p);
          r.loss = {form};
          r.keeps_output = labels == 5;
          compare(c, r);
        }
}

TEST_CASE("training on the host lowers the loss") {
  for (const test::NamedModel& m : test::small_models()) {
    if (m.config.architecture == Architecture::textbook || m.config.residual_dropout > 0) continue;
    for (const char* name : {"adamw", "sgd", "adafactor", "muon", "lion", "lion8bit", "adamw8bit"}) {
      CAPTURE(m.name);
      CAPTURE(name);
      HostBackend backend;
      TrainOptions r = test::small_run();
      read_optimizer_word(r.optimizer, name);
      r.optimizer.lr = r.optimizer.kind == OptimizerKind::sgd ? 0.1 : 1e-2;
      Trainer trainer(backend, m.config, r);
      trainer.step();
      const float first = *trainer.loss().data<float>();
      for (int i = 0; i < 10; ++i) trainer.step();
      CHECK(*trainer.loss().data<float>() < first - 0.01F);
    }
  }
}
