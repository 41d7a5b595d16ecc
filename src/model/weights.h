// The parameters of a model on a device, made in the order and with the shapes that transformers gives them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tape/fp8_linear.h"
#include "tape/quantised.h"
#include "vramplan/model/config.h"

namespace vramplan {

struct Parameter {
  std::string name;  ///< as in the state dict
  Tensor tensor;
};

struct NormWeights {
  Tensor weight, bias;  ///< bias null for RMSNorm
};
struct LinearWeights {
  QuantisedWeight stored;    ///< in place of `weight` when its codes are not null
  Tensor weight, bias;       ///< bias null where there is none
  Tensor lora_a, lora_b;     ///< [r, in] and [out, r]; null without an adapter
  bool input_first = false;  ///< the weight is [in, out] (Conv1D)
  Tensor magnitude;          ///< [out], of DoRA; else null
  double lora_dropout = 0, lora_scale = 2;
  std::shared_ptr<Fp8Layer> fp8;  ///< multiplied in 8-bit floats; null: as it is
  explicit operator bool() const { return weight || stored.codes; }
};

struct LayerWeights {
  NormWeights norm1, norm2;
  LinearWeights qkv;  ///< fused (GPT-2)
  LinearWeights q, k, v, out;
  NormWeights q_norm, k_norm;  ///< [d]; null where heads are not normalised
  NormWeights post_attention, post_mlp;
  LinearWeights gate, up, down;  ///< gate null where the MLP is not gated
  /// Of a decoder behind an encoder: attention to that one's last hidden state.
  LinearWeights cross_q, cross_k, cross_v, cross_out;
  NormWeights cross_norm;
};

/// Prompt learning's encoder, fp32 whatever the model's type; null without.
struct PromptWeights {
  Tensor embedding;        ///< [v, h]; of a prefix [v, 2 L k d], or its projection's input
  LinearWeights up, down;  ///< a prefix's projection
  bool prefix = false;
  explicit operator bool() const { return static_cast<bool>(embedding); }
};

/// Between an encoder's last hidden state and its logits; null in language models.
struct MaskedHead {
  LinearWeights dense;
  NormWeights norm;
  Tensor bias;  ///< of the logits
};

/// Between an encoder's last hidden state and a class; null in other models.
struct PooledHead {
  LinearWeights dense, out;
};

/// The encoder of a sequence-to-sequence model; its tokens' embedding is the decoder's.
struct SourceWeights {
  Tensor position_embedding;
  std::vector<LayerWeights> layers;
  NormWeights embedding_norm;
};

/// Of rotary embeddings, [d / 2] in fp32.
struct RotaryBuffers {
  Tensor inverse_frequencies, original;
};

struct Weights {
  Tensor token_embedding, position_embedding;
  LinearWeights token_adapter;    ///< of the tokens' embedding: A [r, v] and B [h, r] alone
  Tensor type_embedding;          ///< [kinds, h] of an encoder that has them
  Tensor position_ids, type_ids;  ///< buffers of an encoder, int64 [1, positions]
  NormWeights embedding_norm;     ///< of an encoder, and of BART's decoder
  MaskedHead masked;
  PooledHead pooled;  ///< of an encoder that classifies
  SourceWeights source;
  Tensor logits_bias;  ///< buffer [1, v] of BART
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  std::vector<Tensor> replaced;  ///< frozen originals of modules that are trained whole
  PromptWeights prompt;
  Tensor fp8_workspace;               ///< Transformer Engine's; null without
  Tensor scale_map;                   ///< bitsandbytes' own copy of the scales' code book
  Tensor head;                        ///< the token embedding itself when tied
  RotaryBuffers rotary, near_rotary;  ///< the latter of layers that slide, where they differ
  Tensor embedding_scale;             ///< buffer of Gemma, one number
  std::vector<Parameter> parameters;  ///< each tensor once, in state-dict order, adapters last
  std::vector<Parameter> trainable;   ///< those that want gradients
};

struct Adapters;

/// How linear layers other than the head are stored when not as they are.
struct WeightStorage {
  bool four_bits = true;
  bool doubled = false;
  DType dtype = DType::bf16, multiplied = DType::bf16;  ///< as in QuantisedWeight
  bool upcast = false;  ///< what is not stored so becomes fp32 afterwards (peft, prepare_model_for_kbit_training)
};

/// Make all parameters in `dtype`; trainable, filled with small pseudo-random numbers on backends that compute.
Weights make_weights(Tape& t, const ModelConfig& c, DType dtype, const Adapters* adapters = nullptr,
                     const WeightStorage* storage = nullptr);
/// The embeddings and the first layers, so many of them, are not trained.
void freeze_first(const ModelConfig& c, std::int64_t layers, Weights& w);
/// Elements of what freeze_first freezes.
std::int64_t frozen_parameter_count(const ModelConfig& c, std::int64_t layers);
/// The linear modules of the layers become Transformer Engine's: each is made anew and the old one dropped.
void convert_to_fp8(Tape& t, const ModelConfig& c, bool delayed, Weights& w);
/// param.data = param.data.to(dtype): where its old block was is a hole then.
void cast_parameter(Tape& t, const Tensor& p, DType dtype);
/// Rows of the head: tokens, or a classifier's labels.
std::int64_t head_rows(const ModelConfig& c);

}  // namespace vramplan
