#include "model/adapters.h"

#include <utility>

#include "model/dora.h"
#include "model/names.h"
#include "model/projections.h"
#include "model/weight_builder.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// A trainable copy (ModulesToSaveWrapper.update).
Tensor clone_parameter(Tape& t, const Tensor& x) {
  Tensor copy = t.memory().empty_like(x, x.dtype(), "parameter");
  t.backend().unary(Unary::copy, copy, x, 0);
  copy->requires_grad = true;
  return copy;
}

/// Adapters of all targets in `dtype`.
void make_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, DType dtype, Weights& w) {
  for (std::size_t i = 0; i < w.layers.size(); ++i)
    for (const Projection& p : projections(c)) {
      if (!adapters.targets(p.module)) continue;
      LinearWeights& linear = w.layers[i].*p.weights;
      const std::string at = layer_name(c.architecture, static_cast<std::int64_t>(i)) + p.parent + "." + p.module;
      WeightBuilder b(&t, dtype, w.trainable.size());
      linear.lora_a = b.make(at + ".lora_A.weight", {adapters.rank, p.in});
      linear.lora_b = b.make(at + ".lora_B.weight", {p.out, adapters.rank});
      linear.lora_dropout = adapters.dropout;
      linear.lora_scale = adapters.scale;
      if (adapters.dora) {
        linear.magnitude = initial_magnitude(t, linear);
        b.parameters.push_back({at + ".lora_magnitude_vector.weight", linear.magnitude});
      }
      w.trainable.insert(w.trainable.end(), b.parameters.begin(), b.parameters.end());
    }
}

/// Numbers a virtual token has: an embedding, or keys and values of every layer.
std::int64_t width_of(const ModelConfig& c, const PromptTuning& p) {
  return p.prefix ? checked_multiply(2 * c.layers, c.kv_heads * c.head_dim) : c.hidden;
}

/// PromptEmbedding or PrefixEncoder.
PromptWeights make_prompt(WeightBuilder& b, const ModelConfig& c, const PromptTuning& p) {
  const std::string at = "prompt_encoder.default.";
  PromptWeights w;
  w.prefix = p.prefix;
  const std::int64_t width = width_of(c, p);
  if (p.projection == 0) {
    w.embedding = b.make(at + "embedding.weight", {p.tokens, width});
    return w;
  }
  const std::int64_t token = c.kv_heads * c.head_dim;
  w.embedding = b.make(at + "embedding.weight", {p.tokens, token});
  w.up = b.linear(at + "transform.0", token, p.projection, true);
  w.down = b.linear(at + "transform.2", p.projection, width, true);
  return w;
}

/// The type adapters are made in: the base layer's, or that of its products in 4 bits; beside whole numbers they are
/// fp32 at once (_get_base_layer_device_and_dtype).
DType first_type(const Weights& w) {
  const QuantisedWeight& stored = w.layers.front().down.stored;
  if (!stored.codes) return w.parameters.front().tensor.dtype();
  return stored.four_bits ? stored.multiplied : DType::fp32;
}

}  // namespace

void add_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, Weights& w) {
  for (Parameter& p : w.parameters) p.tensor->requires_grad = false;
  if (adapters.prompt) {
    WeightBuilder b(&t, DType::fp32);
    w.prompt = make_prompt(b, c, *adapters.prompt);
    w.trainable = b.parameters;
  } else {
    make_adapters(t, c, adapters, first_type(w), w);
    for (const Parameter& p : w.trainable) cast_parameter(t, p.tensor, adapters.dtype);  // cast_adapter_dtype
  }
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

std::int64_t adapter_parameter_count(const ModelConfig& c, const Adapters& adapters) {
  if (adapters.prompt) {
    WeightBuilder b(nullptr, DType::fp32);
    make_prompt(b, c, *adapters.prompt);
    return b.elements;
  }
  std::int64_t each = 0;
  for (const Projection& p : projections(c)) {
    if (!adapters.targets(p.module)) continue;
    each = checked_add(each, checked_multiply(adapters.rank, checked_add(p.in, p.out)));
    if (adapters.dora) each = checked_add(each, p.out);
  }
  if (each == 0)
    throw UserError("no module of this model is a target of the adapters", "lora targets",
                    c.architecture == Architecture::gpt2
                        ? "of GPT-2: c_attn, c_proj, c_fc, all-linear"
                        : "of this model: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, all-linear",
                    Exit::usage);
  return checked_multiply(each, c.layers) + (adapters.saves_embedding ? checked_multiply(c.vocab, c.hidden) : 0) +
         (adapters.saves_head ? checked_multiply(head_rows(c), c.hidden) : 0);
}

}  // namespace vramplan
