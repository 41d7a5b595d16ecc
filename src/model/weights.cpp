#include "model/weights.h"

#include <algorithm>
#include <array>
#include <string_view>

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

LayerWeights make_llama_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  LayerWeights w;
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  w.q = b.linear(at + "self_attn.q_proj", c.hidden, width, c.qkv_bias);
  w.k = b.linear(at + "self_attn.k_proj", c.hidden, kv_width, c.qkv_bias);
  w.v = b.linear(at + "self_attn.v_proj", c.hidden, kv_width, c.qkv_bias);
  w.out = b.linear(at + "self_attn.o_proj", width, c.hidden, c.out_bias);
  if (c.mlp == MlpKind::swiglu) w.gate = b.linear(at + "mlp.gate_proj", c.hidden, c.ffn, c.mlp_bias);
  w.up = b.linear(at + "mlp.up_proj", c.hidden, c.ffn, c.mlp_bias);
  w.down = b.linear(at + "mlp.down_proj", c.ffn, c.hidden, c.mlp_bias);
  w.norm1 = b.norm(at + "input_layernorm", c);
  w.norm2 = b.norm(at + "post_attention_layernorm", c);
  return w;
}

/// The same, as a checkpoint is loaded: by name. Its parameters stand in the order of the state dict all the same.
LayerWeights load_llama_layer(WeightBuilder& b, const std::string& at, const ModelConfig& c) {
  LayerWeights w;
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  const std::size_t first = b.parameters.size();
  w.norm1 = b.norm(at + "input_layernorm", c);
  w.down = b.linear(at + "mlp.down_proj", c.ffn, c.hidden, c.mlp_bias);
  if (c.mlp == MlpKind::swiglu) w.gate = b.linear(at + "mlp.gate_proj", c.hidden, c.ffn, c.mlp_bias);
  w.up = b.linear(at + "mlp.up_proj", c.hidden, c.ffn, c.mlp_bias);
  w.norm2 = b.norm(at + "post_attention_layernorm", c);
  w.k = b.linear(at + "self_attn.k_proj", c.hidden, kv_width, c.qkv_bias);
  w.out = b.linear(at + "self_attn.o_proj", width, c.hidden, c.out_bias);
  w.q = b.linear(at + "self_attn.q_proj", c.hidden, width, c.qkv_bias);
  w.v = b.linear(at + "self_attn.v_proj", c.hidden, kv_width, c.qkv_bias);
  constexpr std::string_view kOrder[]{"q_proj",    "k_proj",          "v_proj",
                                      "o_proj",    "gate_proj",       "up_proj",
                                      "down_proj", "input_layernorm", "post_attention_layernorm"};
  const auto place = [&](const Parameter& p) {
    return std::find_if(std::begin(kOrder), std::end(kOrder),
                        [&](std::string_view module) { return p.name.find(module) != std::string::npos; });
  };
  std::stable_sort(b.parameters.begin() + static_cast<std::ptrdiff_t>(first), b.parameters.end(),
                   [&](const Parameter& x, const Parameter& y) { return place(x) < place(y); });
  return w;
}

LayerWeights make_layer(WeightBuilder& b, const ModelConfig& c, std::int64_t i) {
  if (b.storage) return load_llama_layer(b, "model.layers." + std::to_string(i) + ".", c);
  return c.architecture == Architecture::gpt2 ? make_gpt2_layer(b, "transformer.h." + std::to_string(i) + ".", c)
                                              : make_llama_layer(b, "model.layers." + std::to_string(i) + ".", c);
}

void make_ends(WeightBuilder& b, const ModelConfig& c, Weights& w) {
  const bool gpt2 = c.architecture == Architecture::gpt2;
  if (c.vocab > 0)
    w.token_embedding = b.make(gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight", {c.vocab, c.hidden});
  if (c.position == PositionKind::learned)
    w.position_embedding = b.make("transformer.wpe.weight", {c.positions, c.hidden});
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

void make_rotary_buffers(Tape& t, const ModelConfig& c, Weights& w) {
  w.inverse_frequencies = inverse_frequencies(t, c);
  w.original_inverse_frequencies = t.memory().empty_like(w.inverse_frequencies, DType::fp32, "buffer");
  t.backend().unary(Unary::copy, w.original_inverse_frequencies, w.inverse_frequencies, 0);
  inverse_frequencies(t, c);  // once more when weights are initialised (modeling_utils.py, _init_weights)
}

struct Target {
  const char* module;
  LinearWeights LayerWeights::*weights;
};
constexpr std::array<Target, 7> kTargets{{{"q_proj", &LayerWeights::q},
                                          {"k_proj", &LayerWeights::k},
                                          {"v_proj", &LayerWeights::v},
                                          {"o_proj", &LayerWeights::out},
                                          {"gate_proj", &LayerWeights::gate},
                                          {"up_proj", &LayerWeights::up},
                                          {"down_proj", &LayerWeights::down}}};

/// Input and output width of a target module.
std::pair<std::int64_t, std::int64_t> widths(const ModelConfig& c, std::string_view module) {
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  if (module == "q_proj") return {c.hidden, width};
  if (module == "k_proj" || module == "v_proj") return {c.hidden, kv_width};
  if (module == "o_proj") return {width, c.hidden};
  if (module == "down_proj") return {c.ffn, c.hidden};
  return {c.hidden, c.ffn};
}

bool has_module(const ModelConfig& c, std::string_view module) {
  return c.architecture != Architecture::gpt2 && (module != "gate_proj" || c.mlp == MlpKind::swiglu);
}

/// A trainable copy (ModulesToSaveWrapper.update).
Tensor clone_parameter(Tape& t, const Tensor& x) {
  Tensor copy = t.memory().empty_like(x, x.dtype(), "parameter");
  t.backend().unary(Unary::copy, copy, x, 0);
  copy->requires_grad = true;
  return copy;
}

/// Adapters of all targets in `dtype`, each taking the place of an older one.
void make_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, DType dtype, Weights& w) {
  std::vector<Parameter> before = std::exchange(w.trainable, {});
  for (std::size_t i = 0; i < w.layers.size(); ++i)
    for (const Target& target : kTargets) {
      if (!has_module(c, target.module) || !adapters.targets(target.module)) continue;
      LinearWeights& linear = w.layers[i].*target.weights;
      const auto [in, out] = widths(c, target.module);
      const std::string at = "model.layers." + std::to_string(i) + "." + target.module;
      WeightBuilder b(&t, dtype, w.trainable.size());
      auto replace = [&](Tensor& slot, const std::string& name, const Dims& shape) {
        slot = b.make(at + name, shape);
        if (w.trainable.size() < before.size()) before[w.trainable.size()].tensor.reset();
        w.trainable.push_back({at + name, slot});
      };
      replace(linear.lora_a, ".lora_A.weight", {adapters.rank, in});
      replace(linear.lora_b, ".lora_B.weight", {out, adapters.rank});
      linear.lora_dropout = adapters.dropout;
      linear.lora_scale = adapters.scale;
    }
}

/// param.data = param.data.to(torch.float32), one after the other: each leaves a hole of its old size.
void upcast(Tape& t, const Weights& w) {
  for (const Parameter& p : w.parameters) {
    if (p.tensor.dtype() != DType::bf16 && p.tensor.dtype() != DType::fp16) continue;
    const Tensor wide = t.memory().empty_like(p.tensor, DType::fp32, "parameter");
    t.backend().unary(Unary::copy, wide, p.tensor, 0);
    p.tensor->storage = wide->storage;
    p.tensor->dtype = DType::fp32;
  }
}

/// get_peft_model: everything that is there is frozen, adapters are added.
void add_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, Weights& w) {
  for (Parameter& p : w.parameters) p.tensor->requires_grad = false;
  // Made in the base layer's type, or that of its products in 4 bits, then cast one by one (cast_adapter_dtype); beside
  // whole numbers they are fp32 at once (_get_base_layer_device_and_dtype).
  const QuantisedWeight& stored = w.layers.front().down.stored;
  const DType first = !stored.codes      ? w.parameters.front().tensor.dtype()
                      : stored.four_bits ? stored.multiplied
                                         : DType::fp32;
  make_adapters(t, c, adapters, first, w);
  if (adapters.dtype != w.trainable.front().tensor.dtype()) make_adapters(t, c, adapters, adapters.dtype, w);
  auto save = [&](Tensor& module, const char* name) {
    w.replaced.push_back(module);
    module = clone_parameter(t, module);
    w.trainable.push_back({name, module});
  };
  if (adapters.saves_embedding) save(w.token_embedding, "model.embed_tokens.modules_to_save.weight");
  if (adapters.saves_head)
    save(w.head, c.labels > 0 ? "score.modules_to_save.weight" : "lm_head.modules_to_save.weight");
  w.parameters.insert(w.parameters.end(), w.trainable.begin(), w.trainable.end());
}

void make_layers(WeightBuilder& b, Tape& t, const ModelConfig& c, Weights& w) {
  for (std::int64_t i = 0; i < c.layers; ++i) {
    At here(t, "weights", static_cast<int>(i));
    w.layers.push_back(make_layer(b, c, i));
  }
}

std::int64_t head_rows(const ModelConfig& c) { return c.labels > 0 ? c.labels : c.vocab; }
const char* head_name(const ModelConfig& c) { return c.labels > 0 ? "score.weight" : "lm_head.weight"; }

/// As its class makes it (from_config).
void make_model(WeightBuilder& b, Tape& t, const ModelConfig& c, Weights& w) {
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
  for (const Target& target : kTargets) {
    if (!has_module(c, target.module)) continue;
    const auto [in, out] = widths(c, target.module);
    stored = checked_add(stored, checked_multiply(checked_multiply(in, out), c.layers));
  }
  return storage_bytes(storage.dtype, parameter_count(c) - stored) +
         Bytes(static_cast<std::uint64_t>(storage.four_bits ? stored / 2 : stored));
}

/// As from_pretrained loads a checkpoint that is quantised on the way: by name, after one block for all of it was taken
/// and given back.
void load_model(WeightBuilder& b, Tape& t, const ModelConfig& c, const WeightStorage& storage, Weights& w) {
  { const Scratch warm(t.memory(), loaded_bytes(c, storage), "caching_allocator_warmup"); }
  Parameter head;
  if (!c.tied) {
    w.head = b.make("lm_head.weight", {c.vocab, c.hidden});
    head = b.take_last();
  }
  make_ends(b, c, w);
  b.storage = &storage;
  make_layers(b, t, c, w);
  b.storage = nullptr;
  w.final_norm = b.norm("model.norm", c);
  for (Tensor* buffer : {&w.inverse_frequencies, &w.original_inverse_frequencies}) {
    if (c.position != PositionKind::rotary) break;
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
  if (storage && storage->upcast) upcast(t, w);
  if (adapters)
    add_adapters(t, c, *adapters, w);
  else
    w.trainable = w.parameters;
  return w;
}

std::int64_t adapter_parameter_count(const ModelConfig& c, const Adapters& adapters) {
  std::int64_t each = 0;
  for (const Target& target : kTargets) {
    if (!has_module(c, target.module) || !adapters.targets(target.module)) continue;
    const auto [in, out] = widths(c, target.module);
    each = checked_add(each, checked_multiply(adapters.rank, checked_add(in, out)));
  }
  if (each == 0)
    throw UserError("no module of this model is a target of the adapters", "lora targets",
                    c.architecture == Architecture::gpt2
                        ? "adapters on GPT-2's Conv1D layers are not modelled yet"
                        : "known: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, all-linear",
                    Exit::usage);
  return checked_multiply(each, c.layers) + (adapters.saves_embedding ? checked_multiply(c.vocab, c.hidden) : 0) +
         (adapters.saves_head ? checked_multiply(head_rows(c), c.hidden) : 0);
}

std::int64_t layer_parameter_count(const ModelConfig& c) {
  WeightBuilder b(nullptr, DType::fp32);
  make_layer(b, c, 0);
  return b.elements;
}

std::int64_t parameter_count(const ModelConfig& c) {
  WeightBuilder b(nullptr, DType::fp32);
  Weights w;
  make_ends(b, c, w);
  if (c.architecture != Architecture::textbook) b.norm("norm", c);
  if (c.vocab > 0 && !c.tied) b.make("head", {head_rows(c), c.hidden});
  return checked_add(b.elements, checked_multiply(layer_parameter_count(c), c.layers));
}

}  // namespace vramplan
