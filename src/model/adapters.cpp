#include "model/adapters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "model/dora.h"
#include "model/names.h"
#include "model/projections.h"
#include "model/weight_builder.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// peft trains the modules named "classifier" of a classifier whole: RoBERTa's has its dense layer in it, and
/// DistilBERT's pre_classifier ends with that name too.
bool saves_pooled_dense(const ModelConfig& c) {
  return c.labels > 0 && (c.architecture == Architecture::roberta || c.architecture == Architecture::distilbert);
}

/// A trainable copy (ModulesToSaveWrapper.update).
Tensor clone_parameter(Tape& t, const Tensor& x) {
  Tensor copy = t.memory().empty_like(x, x.dtype(), "parameter");
  t.backend().unary(Unary::copy, copy, x, 0);
  copy->requires_grad = true;
  return copy;
}

/// Calls f(path, weights, projection's in and out, how often) for every target; without weights each kind of layer
/// once.
template <class F>
void for_each_target(const ModelConfig& c, const Adapters& adapters, Weights* w, F f) {
  auto stack = [&](const std::vector<Projection>& of_layer, std::int64_t count, auto name, auto layer) {
    for (std::int64_t i = 0; i < (w ? count : std::min<std::int64_t>(count, 1)); ++i)
      for (const Projection& p : of_layer)
        if (adapters.targets(p.path))
          f(w ? name(i) + p.path : std::string(), w ? &(layer(i).*p.weights) : nullptr, p.in, p.out, w ? 1 : count);
  };
  if (adapters.targets_embedding)
    f(std::string(embedding_path(c)), w ? &w->token_adapter : nullptr, c.vocab, c.hidden, std::int64_t{1});
  if (c.two_stacks())
    stack(source_projections(c), c.source.layers, source_layer_name,
          [&](std::int64_t i) -> LayerWeights& { return w->source.layers[static_cast<std::size_t>(i)]; });
  stack(
      projections(c), c.layers, [&](std::int64_t i) { return layer_name(c.architecture, i); },
      [&](std::int64_t i) -> LayerWeights& { return w->layers[static_cast<std::size_t>(i)]; });
  const auto head = head_projection(c);
  if (head && adapters.targets(head->path) && !saves_pooled_dense(c))
    f(std::string(head->path), w ? &head->weights(*w) : nullptr, head->in, head->out, std::int64_t{1});
}

/// Adapters of all targets in `dtype`.
void make_adapters(Tape& t, const ModelConfig& c, const Adapters& adapters, DType dtype, Weights& w) {
  for_each_target(c, adapters, &w,
                  [&](const std::string& at, LinearWeights* linear, std::int64_t in, std::int64_t out, std::int64_t) {
                    WeightBuilder b(&t, dtype, w.trainable.size());
                    linear->lora_a = b.make(at + ".lora_A.weight", {adapters.rank, in});
                    linear->lora_b = b.make(at + ".lora_B.weight", {out, adapters.rank});
                    linear->lora_dropout = adapters.dropout;
                    linear->lora_scale = adapters.scale;
                    if (adapters.dora) {
                      linear->magnitude = initial_magnitude(t, *linear);
                      b.parameters.push_back({at + ".lora_magnitude_vector.weight", linear->magnitude});
                    }
                    w.trainable.insert(w.trainable.end(), b.parameters.begin(), b.parameters.end());
                  });
}

/// Numbers of a linear layer.
std::int64_t elements(std::int64_t in, std::int64_t out) { return checked_add(checked_multiply(in, out), out); }

/// Of what is trained whole beside the adapters.
std::int64_t saved_elements(const ModelConfig& c, const Adapters& adapters) {
  std::int64_t n = adapters.saves_embedding ? checked_multiply(c.vocab, c.hidden) : 0;
  if (!adapters.saves_head) return n;
  if (!c.encoder()) return checked_add(n, checked_multiply(head_rows(c), c.hidden));
  n = checked_add(n, elements(c.hidden, c.labels));
  return saves_pooled_dense(c) ? checked_add(n, elements(c.hidden, c.hidden)) : n;
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
  auto save = [&](Tensor& module, const std::string& name) {
    w.replaced.push_back(module);
    module = clone_parameter(t, module);
    w.trainable.push_back({name, module});
  };
  auto save_linear = [&](LinearWeights& linear, const std::string& name) {
    save(linear.weight, name + ".weight");
    save(linear.bias, name + ".bias");
  };
  if (adapters.saves_embedding) save(w.token_embedding, "model.embed_tokens.modules_to_save.weight");
  if (adapters.saves_head && c.encoder()) {
    if (saves_pooled_dense(c)) save_linear(w.pooled.dense, "classifier.modules_to_save.dense");
    save_linear(w.pooled.out, "classifier.modules_to_save");
  } else if (adapters.saves_head) {
    save(w.head, c.labels > 0 ? "score.modules_to_save.weight" : "lm_head.modules_to_save.weight");
  }
  w.parameters.insert(w.parameters.end(), w.trainable.begin(), w.trainable.end());
}

std::int64_t adapter_parameter_count(const ModelConfig& c, const Adapters& adapters) {
  if (adapters.prompt) {
    WeightBuilder b(nullptr, DType::fp32);
    make_prompt(b, c, *adapters.prompt);
    return b.elements;
  }
  std::int64_t all = 0;
  for_each_target(c, adapters, nullptr,
                  [&](const std::string&, LinearWeights*, std::int64_t in, std::int64_t out, std::int64_t times) {
                    std::int64_t each = checked_multiply(adapters.rank, checked_add(in, out));
                    if (adapters.dora) each = checked_add(each, out);
                    all = checked_add(all, checked_multiply(each, times));
                  });
  const auto head = head_projection(c);
  if (head && saves_pooled_dense(c) && adapters.targets(head->path))
    throw UserError(fmt::format("adapters on '{}', which peft trains whole, are not modelled", head->path),
                    "lora targets", fmt::format("of this model: {}", fmt::join(adapter_modules(c), ", ")), Exit::usage);
  if (all == 0)
    throw UserError("no module of this model is a target of the adapters", "lora targets",
                    fmt::format("of this model: {}, all-linear", fmt::join(adapter_modules(c), ", ")), Exit::usage);
  return checked_add(all, saved_elements(c, adapters));
}

}  // namespace vramplan
