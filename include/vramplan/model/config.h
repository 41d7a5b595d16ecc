// A language model as numbers: what a Hugging Face config.json says after its defaults are filled in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace vramplan {

enum class Architecture {
  gpt2,
  llama,
  mistral,
  qwen2,
  textbook,
  bert,
  roberta,
  distilbert,
  bart,
  qwen3,
  gemma,
  gemma3,
  starcoder2,
  granite,
  olmo2
};
/// rms_norm_gemma and rms_norm_olmo are written in Python too: in fp32 to the end, the former with one more than the
/// weight.
enum class NormKind { layer_norm, rms_norm_python, rms_norm_fused, rms_norm_gemma, rms_norm_olmo };
/// Norms of queries and keys: each head alone, or all of them at once.
enum class HeadNorms { none, each, whole };
/// The last two have a second matrix, whose product the activation gates.
enum class MlpKind { gelu, gelu_new, gelu_tanh, relu, swiglu, geglu_tanh };
constexpr bool is_gated(MlpKind k) { return k == MlpKind::swiglu || k == MlpKind::geglu_tanh; }
enum class PositionKind { learned, rotary, none };

/// What Granite multiplies by, and divides the logits by: an operation each, even where the number is 1.
struct Multipliers {
  double embedding = 1, residual = 1, attention = 1, logits = 1;
  bool operator==(const Multipliers&) const = default;
};

/// The encoder of a sequence-to-sequence model, whose decoder is what the rest of the config describes.
struct SourceStack {
  std::int64_t layers = 0, heads = 0, ffn = 0;
  bool operator==(const SourceStack&) const = default;
};

struct ModelConfig {
  Architecture architecture = Architecture::llama;
  std::string name;  ///< preset, file or "custom"
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  std::int64_t positions = 0;  ///< longest sequence
  NormKind norm = NormKind::rms_norm_python;
  MlpKind mlp = MlpKind::swiglu;
  PositionKind position = PositionKind::rotary;
  bool tied = false;        ///< lm_head is the token embedding
  std::int64_t labels = 0;  ///< of a classifier, whose head stands in lm_head's place; 0: a language model
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  std::optional<std::int64_t> window;      ///< sliding attention; nothing: full
  std::int64_t full_layers = 0;            ///< the first layers that attend fully although there is a window (Qwen2)
  std::int64_t full_every = 0;             ///< every so many layers one attends fully, with angles of its own (Gemma 3)
  HeadNorms head_norms = HeadNorms::none;  ///< each: Qwen3, Gemma 3; whole: OLMo 2
  bool pre_norms = true;                   ///< each half of a layer has a norm before it
  bool post_norms = false;                 ///< and behind it (Gemma 3), or only there (OLMo 2)
  std::optional<Multipliers> multipliers;
  double embedding_dropout = 0, attention_dropout = 0, residual_dropout = 0;
  double classifier_dropout = 0;  ///< in the head of an encoder that classifies
  double activation_dropout = 0;  ///< between the activation function and the second feed-forward matrix (BART)
  double norm_eps = 1e-5, rope_theta = 10000;
  bool scales_embedding = false;  ///< tokens' embeddings times the root of the hidden size (BART, Gemma)

  SourceStack source;               ///< layers 0: the model is one stack
  std::int64_t token_types = 0;     ///< of an encoder: kinds of tokens with an embedding of their own
  std::int64_t first_position = 0;  ///< of an encoder that leaves out positions up to its padding token's

  /// Every token sees every other, and the head predicts masked ones.
  bool encoder() const {
    return architecture == Architecture::bert || architecture == Architecture::roberta ||
           architecture == Architecture::distilbert;
  }
  /// An encoder reads the source, a decoder that looks at its last hidden state writes the target.
  bool two_stacks() const { return source.layers > 0; }
  /// Into how many segments the layers can be cut; two stacks are cut alike.
  std::int64_t most_segments() const { return two_stacks() ? std::min(layers, source.layers) : layers; }
  /// Reads from left to right and predicts the next token.
  bool decoder() const { return architecture != Architecture::textbook && !encoder() && !two_stacks(); }
  bool sliding(std::int64_t layer) const {
    return window.has_value() && layer >= full_layers && !(full_every > 0 && (layer + 1) % full_every == 0);
  }
  bool operator==(const ModelConfig&) const = default;
};

/// The model under a classifier's head (transformers' ForSequenceClassification): `score`, not tied.
ModelConfig classifier(ModelConfig c, std::int64_t labels);
/// Elements of all trainable tensors; a tied embedding and head count once. Throws Overflow.
std::int64_t parameter_count(const ModelConfig& c);
/// Elements of one repeated layer; of the decoder's where there are two stacks.
std::int64_t layer_parameter_count(const ModelConfig& c);

}  // namespace vramplan
