#include "read/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/suggest.h"
#include "read/encoder_config.h"
#include "read/json_object.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

// Keys without influence on the memory of a training step.
constexpr std::array kHarmless{"architectures",
                               "auto_map",
                               "bos_token_id",
                               "eos_token_id",
                               "pad_token_id",
                               "unk_token_id",
                               "initializer_range",
                               "torch_dtype",
                               "dtype",
                               "transformers_version",
                               "use_cache",
                               "pretraining_tp",
                               "task_specific_params",
                               "_name_or_path",
                               "rope_scaling",
                               "rope_parameters",
                               "rope_theta",
                               "summary_activation",
                               "summary_first_dropout",
                               "summary_proj_to_labels",
                               "summary_type",
                               "summary_use_proj",
                               "n_ctx",
                               "scale_attn_weights",
                               "id2label",
                               "label2id",
                               "_attn_implementation",
                               "is_llama_config",
                               "rope_interleaved",
                               "transformers.js_config",
                               "output_past",
                               "gradient_checkpointing",
                               "attn_implementation",
                               "is_decoder",
                               "scale_attn_by_inverse_layer_idx",
                               "original_max_position_embeddings",
                               "num_labels",
                               "problem_type",
                               "prefix",
                               "finetuning_task",
                               "n_special",
                               "predict_special_tokens",
                               "classifier_dropout",
                               "directionality",
                               "pooler_fc_size",
                               "pooler_num_attention_heads",
                               "pooler_num_fc_layers",
                               "pooler_size_per_head",
                               "pooler_type",
                               "qa_dropout",
                               "tie_weights_",
                               "classif_dropout",
                               "decoder_start_token_id",
                               "forced_bos_token_id",
                               "forced_eos_token_id",
                               "early_stopping",
                               "length_penalty",
                               "max_length",
                               "min_length",
                               "no_repeat_ngram_size",
                               "num_beams",
                               "init_std",
                               "save_step",
                               "extra_pos_embeddings",
                               "force_bos_token_to_be_generated",
                               "add_bias_logits",
                               "chunk_size_feed_forward"};

// Keys that change what a step needs, and that this reader does not model: never to be ignored.
constexpr std::array kUnmodelled{"quantization_config", "num_local_experts",   "num_experts",
                                 "n_routed_experts",    "add_cross_attention", "text_config",
                                 "vision_config",       "compression_config",  "num_nextn_predict_layers",
                                 "mlp_only_layers",     "is_encoder_decoder"};

struct Type {
  std::string_view name;
  void (*read)(const JsonObject&, ModelConfig&);
};

void read_gpt2(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::gpt2;
  c.hidden = o.integer("n_embd");
  c.layers = o.integer("n_layer");
  c.heads = c.kv_heads = o.integer("n_head");
  c.vocab = o.integer_or("vocab_size", 50257);
  c.positions = o.integer_or("n_positions", 1024);
  c.ffn = o.integer_or("n_inner", 4 * c.hidden);
  c.mlp = activation(o, "activation_function", o.text_or("activation_function", "gelu_new"));
  if (c.mlp == MlpKind::swiglu)
    o.fail("activation_function", "silu is not modelled in a GPT-2 block",
           "known: gelu, gelu_new, gelu_pytorch_tanh, relu");
  c.norm = NormKind::layer_norm;
  c.norm_eps = o.number_or("layer_norm_epsilon", 1e-5);
  c.position = PositionKind::learned;
  c.tied = o.boolean_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.embedding_dropout = o.number_or("embd_pdrop", 0.1);
  c.attention_dropout = o.number_or("attn_pdrop", 0.1);
  c.residual_dropout = o.number_or("resid_pdrop", 0.1);
  if (o.boolean_or("reorder_and_upcast_attn", false))
    o.fail("reorder_and_upcast_attn", "this attention is not modelled");
  if (c.heads > 0) c.head_dim = c.hidden / c.heads;
}

/// Sizes, norm, positions and dropout of Llama and those after it.
void read_llama_sizes(const JsonObject& o, ModelConfig& c, std::int64_t default_kv_heads) {
  c.hidden = o.integer("hidden_size");
  c.layers = o.integer("num_hidden_layers");
  c.heads = o.integer("num_attention_heads");
  c.kv_heads = o.integer_or("num_key_value_heads", default_kv_heads ? default_kv_heads : c.heads);
  c.head_dim = o.integer_or("head_dim", c.heads > 0 ? c.hidden / c.heads : 0);
  c.ffn = o.integer("intermediate_size");
  c.vocab = o.integer("vocab_size");
  c.positions = o.integer_or("max_position_embeddings", 2048);
  c.norm = NormKind::rms_norm_python;
  c.norm_eps = o.number_or("rms_norm_eps", 1e-6);
  c.position = PositionKind::rotary;
  c.rope_theta = o.number_or("rope_theta", 10000);
  c.attention_dropout = o.number_or("attention_dropout", 0);
}

void read_llama_like(const JsonObject& o, ModelConfig& c, std::int64_t default_kv_heads) {
  read_llama_sizes(o, c, default_kv_heads);
  const std::string act = o.text_or("hidden_act", "silu");
  if (act != "silu") o.fail("hidden_act", fmt::format("the gated activation '{}' is not modelled", act), "known: silu");
  c.mlp = MlpKind::swiglu;
  c.tied = o.boolean_or("tie_word_embeddings", false);
}

void read_llama(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::llama;
  read_llama_like(o, c, 0);
  c.qkv_bias = c.out_bias = o.boolean_or("attention_bias", false);
  c.mlp_bias = o.boolean_or("mlp_bias", false);
}

void read_mistral(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::mistral;
  read_llama_like(o, c, 8);
  // The class default is a window of 4096; files switch it off with null (transformers configuration_mistral.py).
  const bool stated = o.stated("sliding_window");
  if (o.has("sliding_window"))
    c.window = o.integer("sliding_window");
  else if (!stated)
    c.window = 4096;
}

void read_qwen2(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::qwen2;
  read_llama_like(o, c, 32);
  c.qkv_bias = true;  // fixed in the class
  const std::int64_t window = o.integer_or("sliding_window", 4096), full = o.integer_or("max_window_layers", 28);
  if (o.boolean_or("use_sliding_window", false)) c.window = window, c.full_layers = std::min(full, c.layers);
}

void read_qwen3(const JsonObject& o, ModelConfig& c) {
  read_qwen2(o, c);
  c.architecture = Architecture::qwen3;
  c.head_dim = o.integer_or("head_dim", 128);
  c.qkv_bias = c.out_bias = o.boolean_or("attention_bias", false);
  c.head_norms = HeadNorms::each;
}

/// What all Gemmas share. `act`: the name of their activation, which is gated and GELU's tanh form.
void finish_gemma(const JsonObject& o, ModelConfig& c, const std::string& act) {
  c.head_dim = o.integer_or("head_dim", 256);
  if (act != "gelu_pytorch_tanh" && act != "gelu")
    o.fail("hidden_activation", fmt::format("the gated activation '{}' is not modelled", act),
           "known: gelu_pytorch_tanh");
  c.mlp = MlpKind::geglu_tanh;
  c.norm = NormKind::rms_norm_gemma;
  c.tied = o.boolean_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = o.boolean_or("attention_bias", false);
  c.scales_embedding = true;
  if (o.boolean_or("use_bidirectional_attention", false))
    o.fail("use_bidirectional_attention", "attention both ways is not modelled", "known: false");
}

void read_gemma(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::gemma;
  read_llama_sizes(o, c, 0);
  o.has("hidden_activation");  // transformers goes by hidden_act
  finish_gemma(o, c, o.text_or("hidden_act", "gelu_pytorch_tanh"));
}

void read_gemma3(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::gemma3;
  read_llama_sizes(o, c, 4);
  finish_gemma(o, c, o.text_or("hidden_activation", "gelu_pytorch_tanh"));
  c.head_norms = HeadNorms::each;
  c.post_norms = true;
  c.window = o.integer_or("sliding_window", 4096);
  c.full_every = o.integer_or("sliding_window_pattern", o.integer_or("_sliding_window_pattern", 6));
  for (const char* key : {"query_pre_attn_scalar", "rope_local_base_freq", "cache_implementation"}) o.has(key);
  for (const char* key : {"final_logit_softcapping", "attn_logit_softcapping"})
    if (o.number_or(key, 0) != 0) o.fail(key, "softcapping is not modelled", "known: null");
  if (c.full_every < 2)
    o.fail("sliding_window_pattern", "not every layer can attend fully beside a window", "known: 6");
}

void read_starcoder2(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::starcoder2;
  read_llama_sizes(o, c, 2);
  c.mlp = activation(o, "hidden_act", o.text_or("hidden_act", "gelu_pytorch_tanh"));
  if (is_gated(c.mlp)) o.fail("hidden_act", "a gated activation is not modelled in this block", "known: gelu, relu");
  c.norm = NormKind::layer_norm;
  c.norm_eps = o.number_or("norm_epsilon", 1e-5);
  c.tied = o.boolean_or("tie_word_embeddings", true);
  c.qkv_bias = c.out_bias = c.mlp_bias = o.boolean_or("use_bias", true);
  c.residual_dropout = o.number_or("residual_dropout", 0);
  c.embedding_dropout = o.number_or("embedding_dropout", 0);
  if (o.has("sliding_window")) c.window = o.integer("sliding_window");
  for (const char* key : {"norm_type", "mlp_type"}) o.has(key);
}

void read_granite(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::granite;
  read_llama_like(o, c, 0);
  c.qkv_bias = c.out_bias = o.boolean_or("attention_bias", false);
  c.mlp_bias = o.boolean_or("mlp_bias", false);
  c.multipliers = {o.number_or("embedding_multiplier", 1), o.number_or("residual_multiplier", 1),
                   o.number_or("attention_multiplier", 1), o.number_or("logits_scaling", 1)};
  if (c.multipliers->logits == 0) o.fail("logits_scaling", "logits cannot be divided by 0");
}

void read_olmo2(const JsonObject& o, ModelConfig& c) {
  c.architecture = Architecture::olmo2;
  read_llama_like(o, c, 0);
  c.norm = NormKind::rms_norm_olmo;
  c.norm_eps = o.number_or("rms_norm_eps", 1e-5);
  c.head_norms = HeadNorms::whole;
  c.pre_norms = false;
  c.post_norms = true;
  c.qkv_bias = c.out_bias = o.boolean_or("attention_bias", false);
}

constexpr std::array<Type, 14> kTypes{{{"gpt2", read_gpt2},
                                       {"llama", read_llama},
                                       {"mistral", read_mistral},
                                       {"qwen2", read_qwen2},
                                       {"bert", read_bert},
                                       {"roberta", read_roberta},
                                       {"distilbert", read_distilbert},
                                       {"bart", read_bart},
                                       {"qwen3", read_qwen3},
                                       {"gemma", read_gemma},
                                       {"gemma3_text", read_gemma3},
                                       {"starcoder2", read_starcoder2},
                                       {"granite", read_granite},
                                       {"olmo2", read_olmo2}}};

const Type& type_named(const JsonObject& o, const std::string& name) {
  std::vector<std::string> names;
  for (const Type& t : kTypes) {
    if (t.name == name) return t;
    names.emplace_back(t.name);
  }
  o.fail("model_type", fmt::format("the model_type '{}' is not modelled", name),
         did_you_mean(name, names, fmt::format("known: {}", fmt::join(names, ", ")), Meant::model));
}

template <std::size_t N>
bool contains(const std::array<const char*, N>& list, const std::string& word) {
  for (const char* item : list)
    if (word == item) return true;
  return false;
}

/// What a file says of each layer must be what was made of the other keys.
void check_layer_types(const JsonObject& o, const ModelConfig& c) {
  if (!o.has("layer_types")) return;
  const nlohmann::ordered_json& types = o.raw("layer_types");
  bool same = types.is_array() && static_cast<std::int64_t>(types.size()) == c.layers;
  for (std::int64_t i = 0; same && i < c.layers; ++i) {
    const nlohmann::ordered_json& type = types[static_cast<std::size_t>(i)];
    same = type == (c.sliding(i) ? "sliding_attention" : "full_attention");
  }
  if (!same)
    o.fail("layer_types", "this order of layers is not modelled", "known: what the model's class makes itself");
}

}  // namespace

ReadConfig model_config_of(const nlohmann::ordered_json& value, const std::string& where) {
  const JsonObject o(value, where);
  ReadConfig out;
  out.config.name = where;
  type_named(o, o.text("model_type")).read(o, out.config);
  check_layer_types(o, out.config);
  for (const std::string& key : o.unread()) {
    if (contains(kUnmodelled, key)) {
      if (!o.has(key) || o.raw(key) == false || o.raw(key) == 0) continue;
      o.fail(key, fmt::format("'{}' changes the memory of a step and is not modelled", key),
             "remove it only if the model is trained without it");
    }
    if (!contains(kHarmless, key))
      out.warnings.push_back(fmt::format(
          "{}: the key is not known and was ignored; if it changes the model, the estimate is off", o.at(key)));
  }
  check_model_config(out.config, where);
  return out;
}

ReadConfig read_model_config(std::string_view text, const std::string& where) {
  return model_config_of(parse_json(text, where), where);
}

void check_model_config(const ModelConfig& c, const std::string& where) {
  auto need = [&](bool ok, const std::string& what, const std::string& hint) {
    if (!ok) throw UserError(what, where, hint);
  };
  need(c.layers >= 1 && c.hidden >= 1 && c.heads >= 1 && c.kv_heads >= 1 && c.ffn >= 1 && c.head_dim >= 1,
       "every size of the model must be at least 1", "check layers, hidden, heads and feed-forward width");
  need(c.vocab >= 1 || c.architecture == Architecture::textbook, "the vocabulary must have at least 1 entry",
       "set vocab_size");
  need(c.heads % c.kv_heads == 0, fmt::format("{} heads cannot share {} key/value heads", c.heads, c.kv_heads),
       "heads must be a multiple of key/value heads");
  need((c.architecture != Architecture::gpt2 && !c.encoder() && !c.two_stacks()) || c.head_dim * c.heads == c.hidden,
       fmt::format("{} heads do not divide a hidden size of {}", c.heads, c.hidden),
       "hidden must be a multiple of heads");
  need(c.position != PositionKind::rotary || c.head_dim % 2 == 0,
       fmt::format("rotary embeddings need an even head size, not {}", c.head_dim), "check hidden and heads");
  if (c.architecture == Architecture::bart) {
    need(c.source.layers >= 1 && c.source.heads >= 1 && c.source.ffn >= 1,
         "every size of the encoder must be at least 1",
         "check encoder_layers, encoder_attention_heads and encoder_ffn_dim");
    need(c.hidden % c.source.heads == 0,
         fmt::format("{} heads do not divide a hidden size of {}", c.source.heads, c.hidden),
         "d_model must be a multiple of encoder_attention_heads");
    need(c.source.layers <= 100000 && c.source.ffn <= (std::int64_t{1} << 40),
         "a size of the model is beyond any hardware", "check the numbers");
  }
  need(!c.window || *c.window >= 1, "the sliding window must be at least 1", "use null for full attention");
  for (double p :
       {c.embedding_dropout, c.attention_dropout, c.residual_dropout, c.activation_dropout, c.classifier_dropout})
    need(p >= 0 && p < 1, "a dropout must be at least 0 and below 1", "check the dropout fields");
  for (std::int64_t n : {c.layers, c.hidden, c.heads, c.kv_heads, c.head_dim, c.ffn, c.vocab, c.positions})
    need(n <= (std::int64_t{1} << 40), "a size of the model is beyond any hardware", "check the numbers");
  need(c.layers <= 100000, "more than 100,000 layers", "check the number of layers");
}

}  // namespace vramplan
