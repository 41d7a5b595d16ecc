#include "model/weights.h"

#include <array>

#include "tape/elementwise.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// Collects parameters as they are made. In counting mode nothing is made, only elements are summed.
class Builder {
 public:
  /// `made` parameters were made before: values differ from tensor to tensor.
  Builder(Tape* tape, DType dtype, std::size_t made = 0) : tape_(tape), dtype_(dtype), made_(made) {}

  Tensor make(const std::string& name, const Dims& shape, bool ones = false) {
    elements = checked_add(elements, count(shape));
    if (!tape_) return {};
    Memory& m = tape_->memory();
    Restore category(m.category, Category::parameter);
    Tensor p = m.empty(shape, dtype_, "parameter");
    p->requires_grad = true;
    m.backend().fill(p, ones ? 1 : 0);
    if (!ones) scatter(p);
    parameters.push_back({name, p});
    return p;
  }

  LinearWeights linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias) {
    LinearWeights w;
    if (storage)
      w.stored = stored(name + ".weight", in, out);
    else
      w.weight = make(name + ".weight", {out, in});
    if (bias) w.bias = make(name + ".bias", {out});
    return w;
  }
  LinearWeights conv1d(const std::string& name, std::int64_t in, std::int64_t out) {
    LinearWeights w;
    w.weight = make(name + ".weight", {in, out});
    w.bias = make(name + ".bias", {out});
    return w;
  }
  NormWeights norm(const std::string& name, const ModelConfig& c) {
    NormWeights w;
    w.weight = make(name + ".weight", {c.hidden}, true);
    if (c.norm == NormKind::layer_norm) w.bias = make(name + ".bias", {c.hidden});
    return w;
  }

  void drop_last() { parameters.pop_back(); }

  const WeightStorage* storage = nullptr;
  std::int64_t elements = 0;
  std::vector<Parameter> parameters;

 private:
  /// Params4bit or Int8Params with what belongs to them.
  QuantisedWeight stored(const std::string& name, std::int64_t in, std::int64_t out) {
    constexpr std::int64_t kBlock4 = 64, kBlockOfScales = 256, kMap4 = 16, kMap8 = 256;
    elements = checked_add(elements, checked_multiply(in, out));
    QuantisedWeight w;
    w.in = in, w.out = out, w.four_bits = storage->four_bits;
    w.dtype = storage->dtype, w.multiplied = storage->multiplied;
    if (!tape_) return w;
    auto filled = [&](const Dims& shape, DType dtype, double value) {
      Tensor t = tape_->memory().empty(shape, dtype, "parameter");
      tape_->backend().fill(t, value);
      return t;
    };
    const std::int64_t n = checked_multiply(in, out), blocks = (n + kBlock4 - 1) / kBlock4;
    w.codes = filled(w.four_bits ? Dims{(n + 1) / 2, 1} : Dims{out, in}, DType::int8, 0);
    tape_->backend().arange(w.codes, 0);
    parameters.push_back({name, w.codes});
    if (!w.four_bits) {
      w.scales = filled({out}, DType::fp32, 0.05);
      return w;
    }
    w.scales = filled({blocks}, storage->doubled ? DType::int8 : DType::fp32, storage->doubled ? 100 : 0.05);
    w.map = filled({kMap4}, DType::fp32, 0);
    if (!storage->doubled) return w;
    w.offset = filled({}, DType::fp32, 0.02);
    w.second_scales = filled({(blocks + kBlockOfScales - 1) / kBlockOfScales}, DType::fp32, 0.05);
    w.second_map = filled({kMap8}, DType::fp32, 0);
    return w;
  }

  /// Small numbers that differ from element to element and from tensor to tensor.
  void scatter(const Tensor& p) {
    const double n = static_cast<double>(made_ + parameters.size());
    Backend& b = tape_->backend();
    b.arange(p, n * 0.37);
    b.unary(Unary::scale, p, p, 12.9898);
    b.unary(Unary::sin, p, p, 0);
    b.unary(Unary::scale, p, p, 0.05);
  }

  Tape* tape_;
  DType dtype_;
  std::size_t made_;
};

LayerWeights make_gpt2_layer(Builder& b, const std::string& at, const ModelConfig& c) {
  LayerWeights w;
  w.norm1 = b.norm(at + "ln_1", c);
  w.qkv = b.conv1d(at + "attn.c_attn", c.hidden, 3 * c.hidden);
  w.out = b.conv1d(at + "attn.c_proj", c.hidden, c.hidden);
  w.norm2 = b.norm(at + "ln_2", c);
  w.up = b.conv1d(at + "mlp.c_fc", c.hidden, c.ffn);
  w.down = b.conv1d(at + "mlp.c_proj", c.ffn, c.hidden);
  return w;
}

LayerWeights make_llama_layer(Builder& b, const std::string& at, const ModelConfig& c) {
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

LayerWeights make_layer(Builder& b, const ModelConfig& c, std::int64_t i) {
  return c.architecture == Architecture::gpt2 ? make_gpt2_layer(b, "transformer.h." + std::to_string(i) + ".", c)
                                              : make_llama_layer(b, "model.layers." + std::to_string(i) + ".", c);
}

void make_ends(Builder& b, const ModelConfig& c, Weights& w) {
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
      Builder b(&t, dtype, w.trainable.size());
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

/// get_peft_model: everything that is there is frozen, adapters are added.
void add_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, Weights& w) {
  for (Parameter& p : w.parameters) p.tensor->requires_grad = false;
  // Made in the model's type, then cast one by one (cast_adapter_dtype); beside stored weights they are fp32 at once.
  const bool stored = static_cast<bool>(w.layers.front().down.stored.codes);
  make_adapters(t, c, adapters, stored ? DType::fp32 : w.parameters.front().tensor.dtype(), w);
  if (adapters.dtype != w.trainable.front().tensor.dtype()) make_adapters(t, c, adapters, adapters.dtype, w);
  auto save = [&](Tensor& module, const char* name) {
    w.replaced.push_back(module);
    module = clone_parameter(t, module);
    w.trainable.push_back({name, module});
  };
  if (adapters.saves_embedding) save(w.token_embedding, "model.embed_tokens.modules_to_save.weight");
  if (adapters.saves_head) save(w.head, "lm_head.modules_to_save.weight");
  w.parameters.insert(w.parameters.end(), w.trainable.begin(), w.trainable.end());
}

}  // namespace

Weights make_weights(Tape& t, const ModelConfig& c, DType dtype, const Adapters* adapters,
                     const WeightStorage* storage) {
  Weights w;
  Builder b(&t, dtype);
  Restore category(t.memory().category, Category::parameter);
  make_ends(b, c, w);
  b.storage = storage;
  if (storage && storage->doubled) w.scale_map = t.memory().empty({256}, DType::fp32, "parameter");
  for (std::int64_t i = 0; i < c.layers; ++i) {
    At here(t, "weights", static_cast<int>(i));
    w.layers.push_back(make_layer(b, c, i));
  }
  if (c.architecture != Architecture::textbook)
    w.final_norm = b.norm(c.architecture == Architecture::gpt2 ? "transformer.ln_f" : "model.norm", c);
  if (c.position == PositionKind::rotary) make_rotary_buffers(t, c, w);
  if (c.vocab > 0) {
    w.head = b.make("lm_head.weight", {c.vocab, c.hidden});
    if (c.tied) b.drop_last(), w.head = w.token_embedding;  // made first and tied then: its block stays in the cache
  }
  w.parameters = std::move(b.parameters);
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
  const std::int64_t vocabulary = checked_multiply(c.vocab, c.hidden);
  return checked_multiply(each, c.layers) + (adapters.saves_embedding ? vocabulary : 0) +
         (adapters.saves_head ? vocabulary : 0);
}

std::int64_t layer_parameter_count(const ModelConfig& c) {
  Builder b(nullptr, DType::fp32);
  make_layer(b, c, 0);
  return b.elements;
}

std::int64_t parameter_count(const ModelConfig& c) {
  Builder b(nullptr, DType::fp32);
  Weights w;
  make_ends(b, c, w);
  if (c.architecture != Architecture::textbook) b.norm("norm", c);
  if (c.vocab > 0 && !c.tied) b.make("head", {c.vocab, c.hidden});
  return checked_add(b.elements, checked_multiply(layer_parameter_count(c), c.layers));
}

}  // namespace vramplan
