#include "read/encoder_config.h"

#include <fmt/format.h>

#include <array>

namespace vramplan {
namespace {

void finish_encoder(const JsonObject& o, ModelConfig& c) {
  if (c.mlp == MlpKind::swiglu) o.fail("hidden_act", "silu is not modelled in an encoder's block", "known: gelu, relu");
  c.kv_heads = c.heads;
  if (c.heads > 0) c.head_dim = c.hidden / c.heads;
  c.norm = NormKind::layer_norm;
  c.position = PositionKind::learned;
  c.tied = o.boolean_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = c.mlp_bias = true;
  if (!c.tied) o.fail("tie_word_embeddings", "an encoder with a head of its own is not modelled");
}

void read_bert_like(const JsonObject& o, ModelConfig& c, std::int64_t vocab) {
  c.hidden = o.integer_or("hidden_size", 768);
  c.layers = o.integer_or("num_hidden_layers", 12);
  c.heads = o.integer_or("num_attention_heads", 12);
  c.ffn = o.integer_or("intermediate_size", 3072);
  c.vocab = o.integer_or("vocab_size", vocab);
  c.positions = o.integer_or("max_position_embeddings", 512);
  c.token_types = o.integer_or("type_vocab_size", 2);
  c.mlp = activation(o, "hidden_act", o.text_or("hidden_act", "gelu"));
  c.norm_eps = o.number_or("layer_norm_eps", 1e-12);
  c.embedding_dropout = c.residual_dropout = o.number_or("hidden_dropout_prob", 0.1);
  c.attention_dropout = o.number_or("attention_probs_dropout_prob", 0.1);
  c.classifier_dropout = o.number_or("classifier_dropout", c.residual_dropout);
  if (o.text_or("position_embedding_type", "absolute") != "absolute")
    o.fail("position_embedding_type", "relative positions are not modelled");
  if (c.token_types < 1) o.fail("type_vocab_size", "at least one kind of token is needed");
  finish_encoder(o, c);
}

}  // namespace

MlpKind activation(const JsonObject& o, std::string_view key, const std::string& name) {
  struct Row {
    std::string_view name;
    MlpKind kind;
  };
  constexpr std::array<Row, 5> rows{{{"gelu", MlpKind::gelu},
                                     {"gelu_new", MlpKind::gelu_new},
                                     {"gelu_pytorch_tanh", MlpKind::gelu_tanh},
                                     {"relu", MlpKind::relu},
                                     {"silu", MlpKind::swiglu}}};
  for (const Row& r : rows)
    if (r.name == name) return r.kind;
  o.fail(key, fmt::format("the activation '{}' is not known", name),
         "known: gelu, gelu_new, gelu_pytorch_tanh, relu, silu");
}

void read_bert(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::bert;
  read_bert_like(o, c, 30522);
}

void read_roberta(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::roberta;
  read_bert_like(o, c, 50265);
  c.first_position = o.integer_or("pad_token_id", 1) + 1;
}

void read_distilbert(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::distilbert;
  c.hidden = o.integer_or("dim", 768);
  c.layers = o.integer_or("n_layers", 6);
  c.heads = o.integer_or("n_heads", 12);
  c.ffn = o.integer_or("hidden_dim", 3072);
  c.vocab = o.integer_or("vocab_size", 30522);
  c.positions = o.integer_or("max_position_embeddings", 512);
  c.mlp = activation(o, "activation", o.text_or("activation", "gelu"));
  c.norm_eps = 1e-12;
  c.embedding_dropout = c.residual_dropout = o.number_or("dropout", 0.1);
  c.attention_dropout = o.number_or("attention_dropout", 0.1);
  c.classifier_dropout = o.number_or("seq_classif_dropout", 0.2);
  if (o.boolean_or("sinusoidal_pos_embds", false))
    o.fail("sinusoidal_pos_embds", "fixed positions are not modelled", "known: false");
  finish_encoder(o, c);
}

void read_bart(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::bart;
  c.hidden = o.integer_or("d_model", 1024);
  c.layers = o.integer_or("decoder_layers", 12);
  c.heads = c.kv_heads = o.integer_or("decoder_attention_heads", 16);
  c.ffn = o.integer_or("decoder_ffn_dim", 4096);
  c.source = {o.integer_or("encoder_layers", 12), o.integer_or("encoder_attention_heads", 16),
              o.integer_or("encoder_ffn_dim", 4096)};
  c.vocab = o.integer_or("vocab_size", 50265);
  c.positions = o.integer_or("max_position_embeddings", 1024);
  c.mlp = activation(o, "activation_function", o.text_or("activation_function", "gelu"));
  if (c.mlp == MlpKind::swiglu)
    o.fail("activation_function", "silu is not modelled in a BART block", "known: gelu, gelu_new, relu");
  c.norm = NormKind::layer_norm;
  c.position = PositionKind::learned;
  c.tied = o.boolean_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.embedding_dropout = c.residual_dropout = o.number_or("dropout", 0.1);
  c.attention_dropout = o.number_or("attention_dropout", 0);
  c.activation_dropout = o.number_or("activation_dropout", 0);
  c.scales_embedding = o.boolean_or("scale_embedding", false);
  if (c.heads > 0) c.head_dim = c.hidden / c.heads;
  if (!c.tied) o.fail("tie_word_embeddings", "a sequence-to-sequence model with a head of its own is not modelled");
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"})
    if (o.number_or(key, 0) > 0) o.fail(key, "layers that are left out at random are not modelled", "known: 0");
  for (const char* key : {"normalize_before", "add_final_layer_norm", "static_position_embeddings"})
    if (o.boolean_or(key, false)) o.fail(key, "this older form of BART is not modelled", "known: false");
  if (!o.boolean_or("normalize_embedding", true))
    o.fail("normalize_embedding", "this older form of BART is not modelled", "known: true");
  o.boolean_or("is_encoder_decoder", true);
  // Names that the attributes above have in other models, which files carry besides.
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "hidden_size"}) o.has(key);
}

}  // namespace vramplan
