#include "model/weights.h"

#include <cmath>

#include "tape/elementwise.h"

namespace vramplan {
namespace {

/// Collects parameters as they are made. In counting mode nothing is made, only elements are summed.
class Builder {
 public:
  Builder(Tape* tape, DType dtype) : tape_(tape), dtype_(dtype) {}

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

  std::int64_t elements = 0;
  std::vector<Parameter> parameters;

 private:
  /// Small numbers that differ from element to element and from tensor to tensor.
  void scatter(const Tensor& p) {
    const double n = static_cast<double>(parameters.size());
    Backend& b = tape_->backend();
    b.arange(p, n * 0.37);
    b.unary(Unary::scale, p, p, 12.9898);
    b.unary(Unary::sin, p, p, 0);
    b.unary(Unary::scale, p, p, 0.05);
  }

  Tape* tape_;
  DType dtype_;
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

void make_rotary_buffers(Tape& t, const ModelConfig& c, Weights& w) {
  const std::int64_t half = c.head_dim / 2;
  Backend& b = t.backend();
  w.inverse_frequencies = t.memory().empty({half}, DType::fp32, "buffer");
  b.arange(w.inverse_frequencies, 0);  // theta^(-i / half)
  b.unary(Unary::scale, w.inverse_frequencies, w.inverse_frequencies, -1.0 / static_cast<double>(half));
  b.unary(Unary::exponential, w.inverse_frequencies, w.inverse_frequencies, c.rope_theta);
  w.original_inverse_frequencies = t.memory().empty({half}, DType::fp32, "buffer");
  b.unary(Unary::copy, w.original_inverse_frequencies, w.inverse_frequencies, 0);
}

}  // namespace

Weights make_weights(Tape& t, const ModelConfig& c, DType dtype) {
  Weights w;
  Builder b(&t, dtype);
  Restore category(t.memory().category, Category::parameter);
  make_ends(b, c, w);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    At here(t, "weights", static_cast<int>(i));
    w.layers.push_back(make_layer(b, c, i));
  }
  if (c.architecture != Architecture::textbook)
    w.final_norm = b.norm(c.architecture == Architecture::gpt2 ? "transformer.ln_f" : "model.norm", c);
  if (c.position == PositionKind::rotary) make_rotary_buffers(t, c, w);
  if (c.vocab > 0) w.head = c.tied ? w.token_embedding : b.make("lm_head.weight", {c.vocab, c.hidden});
  w.parameters = std::move(b.parameters);
  return w;
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
