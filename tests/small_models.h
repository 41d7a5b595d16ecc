// Models small enough for the host, one for each way a layer is written.
#pragma once
#include <string>
#include <vector>

#include "vramplan/model/config.h"
#include "vramplan/train/options.h"

namespace vramplan::test {

struct NamedModel {
  std::string name;
  ModelConfig config;
};

inline ModelConfig small(Architecture a) {
  ModelConfig c;
  c.architecture = a;
  c.name = "small";
  c.layers = 4;
  c.hidden = 16;
  c.heads = c.kv_heads = 2;
  c.head_dim = 8;
  c.ffn = 24;
  c.vocab = 19;
  c.positions = 32;
  return c;
}

inline ModelConfig small_gpt2(double dropout = 0) {
  ModelConfig c = small(Architecture::gpt2);
  c.norm = NormKind::layer_norm;
  c.mlp = MlpKind::gelu_new;
  c.position = PositionKind::learned;
  c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = dropout;
  return c;
}
inline ModelConfig small_llama() {
  ModelConfig c = small(Architecture::llama);
  c.heads = 4;
  c.head_dim = 4;
  return c;
}
inline ModelConfig small_mistral() {
  ModelConfig c = small_llama();
  c.architecture = Architecture::mistral;
  c.kv_heads = 2;
  c.window = 5;
  return c;
}
inline ModelConfig small_qwen2() {
  ModelConfig c = small_mistral();
  c.architecture = Architecture::qwen2;
  c.kv_heads = 1;
  c.qkv_bias = c.tied = true;
  c.full_layers = 2;
  return c;
}
inline ModelConfig small_qwen3() {
  ModelConfig c = small_qwen2();
  c.architecture = Architecture::qwen3;
  c.qkv_bias = false;
  c.head_norms = HeadNorms::each;
  return c;
}
inline ModelConfig small_gemma3() {
  ModelConfig c = small_mistral();
  c.architecture = Architecture::gemma3;
  c.mlp = MlpKind::geglu_tanh;
  c.norm = NormKind::rms_norm_gemma;
  c.full_every = 2;
  c.head_norms = HeadNorms::each;
  c.tied = c.scales_embedding = c.post_norms = true;
  return c;
}
inline ModelConfig small_granite() {
  ModelConfig c = small_llama();
  c.architecture = Architecture::granite;
  c.multipliers = {12, 0.25, 0.3, 8};
  return c;
}
inline ModelConfig small_olmo2() {
  ModelConfig c = small_llama();
  c.architecture = Architecture::olmo2;
  c.norm = NormKind::rms_norm_olmo;
  c.head_norms = HeadNorms::whole;
  c.pre_norms = false;
  c.post_norms = true;
  return c;
}
inline ModelConfig small_textbook(double dropout = 0) {
  ModelConfig c = small_gpt2(dropout);
  c.architecture = Architecture::textbook;
  c.mlp = MlpKind::gelu;
  c.position = PositionKind::none;
  c.vocab = 0;
  c.ffn = 64;
  c.tied = false;
  return c;
}
/// The block that flags describe: layer norm, GELU, learned positions, separate projections.
inline ModelConfig small_free(double dropout = 0) {
  ModelConfig c = small_gpt2(dropout);
  c.architecture = Architecture::llama;
  c.mlp = MlpKind::gelu;
  c.tied = false;
  return c;
}

inline ModelConfig small_encoder(Architecture a, double dropout = 0) {
  ModelConfig c = small_gpt2(dropout);
  c.architecture = a;
  c.mlp = MlpKind::gelu;
  c.token_types = a == Architecture::distilbert ? 0 : 2;
  c.first_position = a == Architecture::roberta ? 2 : 0;
  return c;
}

inline ModelConfig small_bart(double dropout = 0) {
  ModelConfig c = small_gpt2(dropout);
  c.architecture = Architecture::bart;
  c.mlp = MlpKind::gelu;
  c.activation_dropout = dropout;
  c.source = {4, 4, 40};
  return c;
}

inline std::vector<NamedModel> small_models() {
  return {{"gpt2", small_gpt2()},
          {"gpt2 with dropout", small_gpt2(0.25)},
          {"llama", small_llama()},
          {"mistral", small_mistral()},
          {"qwen2", small_qwen2()},
          {"qwen3", small_qwen3()},
          {"gemma3", small_gemma3()},
          {"granite", small_granite()},
          {"olmo2", small_olmo2()},
          {"textbook", small_textbook()},
          {"textbook with dropout", small_textbook(0.25)},
          {"free", small_free()},
          {"free with dropout", small_free(0.25)},
          {"bert", small_encoder(Architecture::bert)},
          {"roberta with dropout", small_encoder(Architecture::roberta, 0.25)},
          {"distilbert", small_encoder(Architecture::distilbert)},
          {"bart", small_bart()},
          {"bart with dropout", small_bart(0.25)}};
}

inline TrainOptions small_run(Precision p = Precision::fp32, AttentionForm a = AttentionForm::eager) {
  TrainOptions r;
  r.micro_batch = 2;
  r.seq = 8;
  r.precision = p;
  r.attention = a;
  r.optimizer.lr = 1e-3;
  return r;
}
/// The same with the loss that goes with the model's head.
inline TrainOptions suited(const ModelConfig& c, TrainOptions r) {
  if (r.loss.form == LossForm::causal) r.loss.form = own_loss(c);
  return r;
}

/// Whether recomputation adds up gradients in another order, so that their last bits differ, in PyTorch too. A
/// reentrant segment's inputs are leaves: under autocast three projections without a norm before them share the cast of
/// one, whose gradients are added up in 16 bits; and a decoder's layer adds up its own gradients of the encoder's state
/// first.
inline bool other_bits(const ModelConfig& c, const TrainOptions& r) {
  return r.checkpoint.reentrant && (c.two_stacks() || ((c.encoder() || !c.pre_norms) && autocast_type(r.precision)));
}

}  // namespace vramplan::test
