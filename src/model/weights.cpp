#include "model/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "model/adapters.h"
#include "model/bart_weights.h"
#include "model/bert_weights.h"
#include "model/names.h"
#include "model/projections.h"
#include "model/weight_builder.h"
#include "tape/elementwise.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

LayerWeights make_gpt2_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  LayerWeights w;
  w.norm1 = b.norm(at + "ln_1", c);
  w.qkv = b.conv1d(at + "attn.c_attn", c.hidden, 3 * c.hidden);
  w.out = b.conv1d(at + "attn.c_proj", c.hidden, c.hidden);
  w.norm2 = b.norm(at + "ln_2", c);
  w.up = b.conv1d(at + "mlp.c_fc", c.hidden, c.ffn);
  w.down = b.conv1d(at + "mlp.c_proj", c.ffn, c.hidden);
  return w;
}

/// The name of the norm before the second half of a layer.
const char* second_norm(const ModelConfig& c) {
  return c.post_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
}

LayerWeights make_llama_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  LayerWeights w;
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  w.q = b.linear(at + "self_attn.q_proj", c.hidden, width, c.qkv_bias);
  w.k = b.linear(at + "self_attn.k_proj", c.hidden, kv_width, c.qkv_bias);
  w.v = b.linear(at + "self_attn.v_proj", c.hidden, kv_width, c.qkv_bias);
  w.out = b.linear(at + "self_attn.o_proj", width, c.hidden, c.out_bias);
  const bool whole = c.head_norms == HeadNorms::whole;
  if (c.head_norms != HeadNorms::none) {
    w.q_norm = b.norm(at + "self_attn.q_norm", c, whole ? width : c.head_dim);
    w.k_norm = b.norm(at + "self_attn.k_norm", c, whole ? kv_width : c.head_dim);
  }
  if (is_gated(c.mlp)) w.gate = b.linear(at + "mlp.gate_proj", c.hidden, c.ffn, c.mlp_bias);
  w.up = b.linear(at + up_path(c.architecture), c.hidden, c.ffn, c.mlp_bias);
  w.down = b.linear(at + down_path(c.architecture), c.ffn, c.hidden, c.mlp_bias);
  if (c.pre_norms) w.norm1 = b.norm(at + "input_layernorm", c);
  if (c.post_norms) w.post_attention = b.norm(at + "post_attention_layernorm", c);
  if (c.pre_norms) w.norm2 = b.norm(at + second_norm(c), c);
  if (c.post_norms) w.post_mlp = b.norm(at + "post_feedforward_layernorm", c);
  return w;
}

/// The same, as a checkpoint is loaded: by name. Its parameters stand in the order of the state dict all the same.
LayerWeights load_llama_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  LayerWeights w;
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  const std::size_t first = b.parameters.size();
  if (c.pre_norms) w.norm1 = b.norm(at + "input_layernorm", c);
  w.down = b.linear(at + down_path(c.architecture), c.ffn, c.hidden, c.mlp_bias);
  if (is_gated(c.mlp)) w.gate = b.linear(at + "mlp.gate_proj", c.hidden, c.ffn, c.mlp_bias);
  w.up = b.linear(at + up_path(c.architecture), c.hidden, c.ffn, c.mlp_bias);
  if (c.post_norms) {
    w.post_attention = b.norm(at + "post_attention_layernorm", c);
    w.post_mlp = b.norm(at + "post_feedforward_layernorm", c);
  }
  if (c.pre_norms) w.norm2 = b.norm(at + second_norm(c), c);
  const bool whole = c.head_norms == HeadNorms::whole, normed = c.head_norms != HeadNorms::none;
  if (normed) w.k_norm = b.norm(at + "self_attn.k_norm", c, whole ? kv_width : c.head_dim);
  w.k = b.linear(at + "self_attn.k_proj", c.hidden, kv_width, c.qkv_bias);
  w.out = b.linear(at + "self_attn.o_proj", width, c.hidden, c.out_bias);
  if (normed) w.q_norm = b.norm(at + "self_attn.q_norm", c, whole ? width : c.head_dim);
  w.q = b.linear(at + "self_attn.q_proj", c.hidden, width, c.qkv_bias);
  w.v = b.linear(at + "self_attn.v_proj", c.hidden, kv_width, c.qkv_bias);
  constexpr std::string_view kOrder[]{
      "q_proj",  "k_proj",    "v_proj",          "o_proj",         "q_norm",          "k_norm",          "gate_proj",
      "up_proj", "down_proj", "input_layernorm", "post_attention", "pre_feedforward", "post_feedforward"};
  const auto place = [&](const Parameter& p) {
    return std::find_if(std::begin(kOrder), std::end(kOrder),
                        [&](std::string_view module) { return p.name.find(module) != std::string::npos; });
  };
  std::stable_sort(b.parameters.begin() + static_cast<std::ptrdiff_t>(first), b.parameters.end(),
                   [&](const Parameter& x, const Parameter& y) { return place(x) < place(y); });
  return w;
}

LayerWeights make_layer(WeightBuilder& b, const ModelConfig& c, std::int64_t i) {
  const std::string at = layer_name(c.architecture, i);
  if (b.storage) return load_llama_layer(b, at, c);
  if (c.encoder()) return make_bert_layer(b, at, c);
  if (c.two_stacks()) return make_bart_decoder_layer(b, at, c);
  return c.architecture == Architecture::gpt2 ? make_gpt2_layer(b, at, c) : make_llama_layer(b, at, c);
}

void make_ends(WeightBuilder& b, const ModelConfig& c, Weights& w) {
  const bool gpt2 = c.architecture == Architecture::gpt2;
  if (c.vocab > 0)
    w.token_embedding = b.make(gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight", {c.vocab, c.hidden});
  if (c.position == PositionKind::learned)
    w.position_embedding = b.make("transformer.wpe.weight", {c.positions, c.hidden});
  if (c.scales_embedding && b.tape())
    w.embedding_scale =
        filled(*b.tape(), {}, w.token_embedding.dtype(), std::sqrt(static_cast<double>(c.hidden)), "buffer");
}

/// compute_default_rope_parameters: 1 / theta^(i / half), by way of the temporaries that its one line makes.
Tensor inverse_frequencies(Tape& t, const ModelConfig& c) {
  const std::int64_t half = c.head_dim / 2;
  auto make = [&](const char* op) { return t.memory().empty({half}, DType::fp32, op); };
  Backend& b = t.backend();
  Tensor steps = make("arange");
  b.arange(steps, 0);
  Tensor exponents = make("div");
  b.unary(Unary::scale, exponents, steps, 1.0 / static_cast<double>(half));
  steps.reset();
  const Tensor powers = make("pow");
  { const Scratch base(t.memory(), Bytes(8), "pow base"); }
  b.unary(Unary::exponential, powers, exponents, c.rope_theta);
  exponents.reset();
  const Tensor inverse = make("reciprocal");
  b.unary(Unary::pow, inverse, powers, -1);
  Tensor out = make("buffer");
  b.unary(Unary::copy, out, inverse, 0);
  return out;
}

/// One set of angles for each kind of layer that has its own.
void make_rotary_buffers(Tape& t, const ModelConfig& c, Weights& w) {
  auto make = [&](RotaryBuffers& rotary) {
    rotary.inverse_frequencies = inverse_frequencies(t, c);
    rotary.original = t.memory().empty_like(rotary.inverse_frequencies, DType::fp32, "buffer");
    t.backend().unary(Unary::copy, rotary.original, rotary.inverse_frequencies, 0);
  };
  make(w.rotary);
  if (c.full_every > 0) make(w.near_rotary);
  // once more when weights are initialised (modeling_utils.py, _init_weights)
  inverse_frequencies(t, c);
  if (c.full_every > 0) inverse_frequencies(t, c);
}

void make_layers(WeightBuilder& b, Tape& t, const ModelConfig& c, Weights& w) {
  for (std::int64_t i = 0; i < c.layers; ++i) {
    At here(t, "weights", static_cast<int>(i));
    w.layers.push_back(make_layer(b, c, i));
  }
}

const char* head_name(const ModelConfig& c) { return c.labels > 0 ? "score.weight" : "lm_head.weight"; }

/// As its class makes it (from_config).
void make_model(WeightBuilder& b, Tape& t, const ModelConfig& c, Weights& w) {
  if (c.two_stacks()) return make_bart(b, c, w);
  if (c.encoder()) {
    make_bert_embeddings(b, c, w);
    make_layers(b, t, c, w);
    return make_bert_head(b, c, w);
  }
  make_ends(b, c, w);
  make_layers(b, t, c, w);
  if (c.architecture != Architecture::textbook)
    w.final_norm = b.norm(c.architecture == Architecture::gpt2 ? "transformer.ln_f" : "model.norm", c);
  if (c.position == PositionKind::rotary) make_rotary_buffers(t, c, w);
  if (c.vocab > 0) {
    w.head = b.make(head_name(c), {head_rows(c), c.hidden});
    if (c.tied) b.take_last(), w.head = w.token_embedding;  // made first and tied then: its block stays in the cache
  }
}

/// Bytes of a quantised model, as far as from_pretrained knows them beforehand (caching_allocator_warmup).
Bytes loaded_bytes(const ModelConfig& c, const WeightStorage& storage) {
  std::int64_t stored = 0;
  for (const Projection& p : projections(c))
    stored = checked_add(stored, checked_multiply(checked_multiply(p.in, p.out), c.layers));
  return storage_bytes(storage.dtype, parameter_count(c) - stored) +
         Bytes(static_cast<std::uint64_t>(storage.four_bits ? stored / 2 : stored));
}

/// As from_pretrained loads a checkpoint that is quantised on the way: by name, after one block for all of it was taken
/// and given back.
void load_model(WeightBuilder& b, Tape& t, const ModelConfig& c, const WeightStorage& storage, Weights& w) {
  { const Scratch warm(t.memory(), loaded_bytes(c, storage), "caching_allocator_warmup"); }
  Parameter head;
  auto make_head = [&] {
    w.head = b.make(head_name(c), {head_rows(c), c.hidden});
    head = b.take_last();
  };
  if (!c.tied && c.labels == 0) make_head();
  make_ends(b, c, w);
  b.storage = &storage;
  make_layers(b, t, c, w);
  b.storage = nullptr;
  w.final_norm = b.norm("model.norm", c);
  if (c.labels > 0) make_head();  // which the checkpoint of a language model has not
  std::vector<Tensor*> buffers;
  if (c.position == PositionKind::rotary) buffers = {&w.rotary.inverse_frequencies, &w.rotary.original};
  if (c.full_every > 0) buffers.insert(buffers.end(), {&w.near_rotary.inverse_frequencies, &w.near_rotary.original});
  for (Tensor* buffer : buffers) {
    *buffer = t.memory().empty({c.head_dim / 2}, DType::fp32, "buffer");
    t.backend().fill(*buffer, 0.1);
  }
  if (c.tied)
    w.head = w.token_embedding;
  else
    b.parameters.push_back(std::move(head));
  w.scale_map = b.scale_map;
}

}  // namespace

std::int64_t head_rows(const ModelConfig& c) { return c.labels > 0 ? c.labels : c.vocab; }

void cast_parameter(Tape& t, const Tensor& p, DType dtype) {
  if (p.dtype() == dtype) return;
  const Tensor changed = t.memory().empty_like(p, dtype, "parameter");
  t.backend().unary(Unary::copy, changed, p, 0);
  p->storage = changed->storage;
  p->dtype = dtype;
}

void convert_to_fp8(Tape& t, const ModelConfig& c, bool delayed, Weights& w) {
  Restore category(t.memory().category, Category::parameter);
  auto made_anew = [&](const Tensor& p) {
    Tensor fresh = t.memory().empty_like(p, p.dtype(), "parameter");
    t.backend().unary(Unary::copy, fresh, p, 0);
    return fresh;
  };
  for (LayerWeights& layer : w.layers)
    for (const Projection& p : projections(c)) {
      LinearWeights& linear = layer.*p.weights;
      const Tensor weight = made_anew(linear.weight);
      if (!w.fp8_workspace)
        w.fp8_workspace = t.memory().empty({static_cast<std::int64_t>(fp8_workspace(t.device).count())}, DType::int8,
                                           "transformer engine workspace");
      if (linear.bias) linear.bias->storage = made_anew(linear.bias)->storage;
      linear.weight->storage = weight->storage;
      linear.fp8 = std::make_shared<Fp8Layer>(Fp8Layer{delayed, {}, {}, {}, {}});
    }
}

void freeze_first(const ModelConfig& c, std::int64_t layers, Weights& w) {
  auto frozen = [&](const std::string& name) {
    if (!in_layer(name)) return is_embedding(name) || name.find(".embeddings.") != std::string::npos;
    for (std::int64_t i = 0; i < layers; ++i)
      if (name.starts_with(layer_name(c.architecture, i))) return true;
    return false;
  };
  w.trainable.clear();
  for (const Parameter& p : w.parameters) {
    p.tensor->requires_grad = !frozen(p.name);
    if (p.tensor->requires_grad) w.trainable.push_back(p);
  }
}

ModelConfig classifier(ModelConfig c, std::int64_t labels) {
  c.labels = labels;
  c.tied = false;
  return c;
}

Weights make_weights(Tape& t, const ModelConfig& c, DType dtype, const Adapters* adapters,
                     const WeightStorage* storage) {
  Weights w;
  WeightBuilder b(&t, dtype);
  Restore category(t.memory().category, Category::parameter);
  if (storage)
    load_model(b, t, c, *storage, w);
  else
    make_model(b, t, c, w);
  w.parameters = std::move(b.parameters);
  if (storage && storage->upcast)
    for (const Parameter& p : w.parameters)
      if (p.tensor.dtype() == DType::bf16 || p.tensor.dtype() == DType::fp16) cast_parameter(t, p.tensor, DType::fp32);
  if (adapters)
    add_adapters(t, c, *adapters, w);
  else
    w.trainable = w.parameters;
  return w;
}

std::int64_t layer_parameter_count(const ModelConfig& c) {
  WeightBuilder b(nullptr, DType::fp32);
  make_layer(b, c, 0);
  return b.elements;
}

std::int64_t frozen_parameter_count(const ModelConfig& c, std::int64_t layers) {
  WeightBuilder b(nullptr, DType::fp32);
  Weights w;
  c.encoder() ? make_bert_embeddings(b, c, w) : make_ends(b, c, w);
  return checked_add(b.elements, checked_multiply(layer_parameter_count(c), layers));
}

std::int64_t parameter_count(const ModelConfig& c) {
  WeightBuilder b(nullptr, DType::fp32);
  Weights w;
  if (c.two_stacks()) {
    make_bart(b, c, w);
    return b.elements;
  }
  if (c.encoder()) {
    make_bert_embeddings(b, c, w);
    make_bert_head(b, c, w);
    return checked_add(b.elements, checked_multiply(layer_parameter_count(c), c.layers));
  }
  make_ends(b, c, w);
  if (c.architecture != Architecture::textbook) b.norm("norm", c);
  if (c.vocab > 0 && !c.tied) b.make("head", {head_rows(c), c.hidden});
  return checked_add(b.elements, checked_multiply(layer_parameter_count(c), c.layers));
}

}  // namespace vramplan
