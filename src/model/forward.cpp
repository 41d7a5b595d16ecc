#include "model/forward.h"

#include <memory>
#include <utility>

#include "model/adapted_linear.h"
#include "model/bart.h"
#include "model/bert.h"
#include "model/positions.h"
#include "model/prompts.h"
#include "tape/activation.h"
#include "tape/checkpoint.h"
#include "tape/elementwise.h"
#include "tape/embedding.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/norm.h"
#include "tape/view.h"

namespace vramplan {
namespace {

Tensor embed(Tape& t, const Weights& w, const Batch& batch) {
  Tensor tokens = embedding(t, w.token_embedding, batch.ids);
  if (w.embedding_scale) tokens = mul(t, tokens, w.embedding_scale);
  tokens = adapt_embedding(t, w.token_adapter, batch.ids, tokens, w.embedding_scale);
  if (batch.embeddings_want_grad) tokens->requires_grad = true;
  return tokens;
}

/// Keys that are there before the tokens'.
std::int64_t prefix_length(const Weights& w) { return w.prompt.prefix ? w.prompt.embedding.size(0) : 0; }

/// GPT2Model.forward: embeddings, dropout, layers, final norm. Its locals live until it returns.
Tensor gpt2_body(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const Tensor& given,
                 const AttentionChoice& choice, const RunStack& run) {
  const Tensor tokens = given ? given : embed(t, w, batch);  // [b, s, h]
  const Tensor positions = position_ids(t, tokens.size(1), prefix_length(w));
  const Tensor placed = embedding(t, w.position_embedding, positions);
  Tensor hidden = add(t, tokens, placed);
  const Masks masks = make_masks(t, c, tokens.size(0), tokens.size(1), prefix_length(w), tokens.dtype(), choice);
  hidden = dropout(t, hidden, c.embedding_dropout);
  LayerStack stack;
  stack.count = c.layers;
  stack.mask_is_argument = true;
  stack.arguments = [mask = masks.full](std::int64_t) { return Arguments{mask, {}, {}, {}}; };
  stack.run = [&t, &c, &w, choice, positions](std::int64_t i, const Tensor& x, const Arguments& with) {
    At here(t, "layer", static_cast<int>(i));
    return gpt2_layer(t, c, w.layers[static_cast<std::size_t>(i)], x, with.mask, choice);
  };
  hidden = run(t, stack, std::move(hidden));
  return apply_norm(t, c, w.final_norm, hidden);
}

/// Whether a cache that was given comes back with the output although none was asked for.
bool returns_given_cache(const ModelConfig& c) {
  switch (c.architecture) {
    case Architecture::llama:
    case Architecture::gemma3:
    case Architecture::granite:
    case Architecture::olmo2: return true;
    default: return false;
  }
}

/// LlamaModel.forward. `inputs_embeds` keeps the embeddings alive until it returns.
Tensor llama_body(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const Tensor& given,
                  const AttentionChoice& choice, const RunStack& run) {
  Tensor tokens = given ? given : embed(t, w, batch);  // [b, s, h]
  if (c.multipliers) tokens = scale(t, tokens, c.multipliers->embedding);
  const Tensor positions = position_ids(t, tokens.size(1), prefix_length(w));
  const Masks masks = make_masks(t, c, tokens.size(0), tokens.size(1), prefix_length(w), tokens.dtype(), choice);
  Tensor hidden = tokens;
  Rotary rotary, near;  // those of layers that slide, where they are others
  if (c.position == PositionKind::rotary)
    rotary = rotary_tables(t, w.rotary, positions, wide_angles(c) ? DType::fp32 : tokens.dtype());
  if (c.full_every > 0) near = rotary_tables(t, w.near_rotary, positions, tokens.dtype());
  if (c.position == PositionKind::learned) hidden = add(t, tokens, embedding(t, w.position_embedding, positions));
  if (c.embedding_dropout > 0) hidden = dropout(t, hidden, c.embedding_dropout);
  LayerStack stack;
  stack.count = c.layers;
  stack.arguments = [&c, masks, rotary, near](std::int64_t i) {
    const bool slides = c.sliding(i);
    const Rotary& turn = c.full_every > 0 && slides ? near : rotary;
    return Arguments{slides ? masks.sliding : masks.full, {}, turn.cos, turn.sin};
  };
  stack.run = [&t, &c, &w, choice, positions](std::int64_t i, const Tensor& x, const Arguments& with) {
    At here(t, "layer", static_cast<int>(i));
    return llama_layer(t, c, w.layers[static_cast<std::size_t>(i)], x, with, choice);
  };
  hidden = run(t, stack, std::move(hidden));
  return apply_norm(t, c, w.final_norm, hidden);
}

ModelOutput textbook(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const EagerArgs& kept,
                     const RunStack& run) {
  LayerStack stack;
  stack.count = c.layers;
  stack.run = [&t, &c, &w, kept](std::int64_t i, const Tensor& x, const Arguments&) {
    At here(t, "layer", static_cast<int>(i));
    return textbook_layer(t, c, w.layers[static_cast<std::size_t>(i)], x, kept);
  };
  const Tensor hidden = run(t, stack, batch.hidden);
  InPhase phase(t.memory(), Phase::loss);
  const Tensor wide = cast(t, hidden, DType::fp32);
  return {mean_all(t, wide), hidden};
}

}  // namespace

ModelOutput forward(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch,
                    const AttentionChoice& attention, const RunStack& run, const LossChoice& loss) {
  if (attention.cache) *attention.cache = {};
  if (c.architecture == Architecture::textbook) return textbook(t, c, w, batch, attention.kept, run);
  Given given;
  given.labels = batch.labels;
  if (w.prompt.prefix)
    attention.cache->states = prefix_of(t, c, w.prompt, batch.ids.size(0), w.token_embedding.dtype());
  else if (w.prompt)
    given = behind_prompt(t, w.prompt, embed(t, w, batch), batch.labels);
  if (c.two_stacks()) return bart(t, c, w, batch, attention, run);
  if (c.encoder()) {
    const Tensor hidden = bert_body(t, c, w, batch, attention, run);
    InPhase phase(t.memory(), Phase::loss);
    return c.labels > 0 ? pooled_classifier(t, c, w, hidden, batch.labels, loss.form)
                        : masked_lm(t, c, w, hidden, batch.labels);
  }
  const auto body = c.architecture == Architecture::gpt2 ? gpt2_body : llama_body;
  Tensor hidden = body(t, c, w, batch, given.embeddings, attention, run);
  InPhase phase(t.memory(), Phase::loss);
  ModelOutput out =
      loss_head(t, loss, std::move(hidden), {w.head, c.multipliers ? c.multipliers->logits : 0}, given.labels);
  if (attention.cache) out.rest = std::exchange(*attention.cache, {}).states;
  if (!attention.uses_cache && !returns_given_cache(c)) out.rest.clear();
  return out;
}

Tensor run_part(Tape& t, bool recomputed, const Segment& part, const Tensor& x) {
  return recomputed ? checkpoint(t, Recompute::non_reentrant, part, x) : part(x, {});
}

void update_cache(Tape& t, const AttentionChoice& choice, Tensor& k, Tensor& v) {
  if (!choice.cache) return;
  std::vector<Tensor>& states = choice.cache->states;
  for (Tensor* x : {&k, &v}) {
    const std::size_t i = choice.cache->next++;
    if (i == states.size()) states.emplace_back();
    *x = states[i] ? cat(t, states[i], *x, 2) : cat_with_nothing(t, *x);
    states[i] = *x;
  }
}

EagerAttention run_attention(Tape& t, const AttentionChoice& choice, const Attend& attend, const Tensor& q,
                             const Tensor& k, const Tensor& v) {
  if (!choice.recomputed.attention) return attend(q, k, v);
  for (const Tensor* x : {&k, &v})
    if (t.grad_enabled && (*x)->storage->category == Category::temporary) t.memory().reclassify(*x, Category::boundary);
  EagerAttention out;
  // The caller gets the probabilities of the first run; those of the second are nobody's.
  auto sink = std::make_shared<Tensor*>(&out.probabilities);
  out.out = run_part(
      t, true,
      [attend, k, v, sink](const Tensor& queries, const Arguments&) {
        EagerAttention a = attend(queries, k, v);
        if (Tensor* probabilities = std::exchange(*sink, nullptr)) *probabilities = a.probabilities;
        return a.out;
      },
      q);
  return out;
}

Tensor apply_norm(Tape& t, const ModelConfig& c, const NormWeights& w, const Tensor& x) {
  At here(t, "norm");
  switch (c.norm) {
    case NormKind::layer_norm: return layer_norm(t, x, w.weight, w.bias, c.norm_eps);
    case NormKind::rms_norm_python: return rms_norm_python(t, x, w.weight, c.norm_eps);
    case NormKind::rms_norm_olmo: return rms_norm_olmo(t, x, w.weight, c.norm_eps);
    case NormKind::rms_norm_gemma: return rms_norm_gemma(t, x, w.weight, c.norm_eps);
    case NormKind::rms_norm_fused: return rms_norm_fused(t, x, w.weight, c.norm_eps);
  }
  return {};
}

Tensor apply_activation(Tape& t, MlpKind kind, const Tensor& x) {
  switch (kind) {
    case MlpKind::gelu: return gelu(t, x);
    case MlpKind::gelu_new: return gelu_new(t, x);
    case MlpKind::gelu_tanh:
    case MlpKind::geglu_tanh: return gelu_tanh(t, x);
    case MlpKind::relu: return relu(t, x);
    case MlpKind::swiglu: return silu(t, x);
  }
  return {};
}

}  // namespace vramplan
