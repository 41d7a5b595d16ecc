#include "render/sheet_terms.h"

#include <algorithm>

#include "train/checkpoint_policy.h"
#include "vramplan/tensor/dtype.h"

namespace vramplan {
namespace {

double number(std::int64_t n) { return static_cast<double>(n); }
double number(Bytes b) { return static_cast<double>(b.count()); }

const FormulaRow* row_named(const Explanation& x, std::string_view name) {
  for (const FormulaRow& r : x.rows)
    if (r.name == name) return &r;
  return nullptr;
}

std::int64_t activation_size(const TrainOptions& r) {
  return item_size(autocast_type(r.precision).value_or(parameter_type(r.precision)));
}

std::int64_t segments_of(const Job& job) {
  if (job.run.checkpoint.kind == CheckpointKind::none || job.run.checkpoint.kind == CheckpointKind::selective) return 0;
  return static_cast<std::int64_t>(cut_layers(job.run.checkpoint, job.model.layers).size());
}

Bytes at_peak(const Estimate& e, std::string_view name) {
  for (const ByteRow& r : e.tree.children)
    if (r.name == name) return r.bytes;
  return {};
}

/// Bytes a parameter of what is alive at all times but the parameters themselves, and of gradients.
double states_per_parameter(const Estimate& e) {
  return (number(e.states) - number(at_peak(e, "parameter"))) / number(parameter_count(e.job.model));
}

/// Of what is trained: adapters and prompts may be fp32 beside a model of another type.
std::int64_t gradient_size(const TrainOptions& r) {
  const bool beside = r.prompt || (r.lora && r.lora->full_precision);
  return item_size(r.fp32_gradients || beside ? DType::fp32 : parameter_type(r.precision));
}

/// Terms of the closed form, in bytes at the job's own inputs.
struct ClosedForm {
  double weights, gradients, states, activations, logits, context;
  double sum() const { return weights + gradients + states + activations + logits + context; }
};
ClosedForm closed_form(const Estimate& e, const Explanation& x) {
  const TrainOptions& r = e.job.run;
  const double parameters = number(parameter_count(e.job.model));
  return {number(at_peak(e, "parameter")),
          number(e.trainable) * number(gradient_size(r)),
          parameters * states_per_parameter(e),
          number(segmented_activations(e, kept_by_a_layer(x), segments_of(e.job))),
          number(r.micro_batch) * number(r.seq) * number(e.job.model.vocab) * 4,
          number(at_peak(e, "[cuda context]"))};
}

}  // namespace

Bytes kept_by_a_layer(const Explanation& x) { return row_named(x, "layer")->found.value_or(Bytes()); }

std::string cell_name(const std::string& term) {
  std::string out = term;
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

Bytes segmented_activations(const Estimate& e, Bytes layer, std::int64_t n) {
  const TrainOptions& r = e.job.run;
  const std::int64_t layers = e.job.model.layers;
  const Bytes all = layer * static_cast<std::uint64_t>(layers);
  if (n == 0) return all;
  return boundaries(n, r.micro_batch, r.seq, e.job.model.hidden, activation_size(r)) +
         layer * static_cast<std::uint64_t>((layers + n - 1) / n);
}

/// Elements of a layer beside what the sheet writes out: norms of heads, and behind each half.
double other_layer_parameters(const ModelConfig& m) {
  const double norm = m.norm == NormKind::layer_norm ? 2 : 1;
  const double heads = m.head_norms == HeadNorms::each    ? 2 * number(m.head_dim)
                       : m.head_norms == HeadNorms::whole ? number((m.heads + m.kv_heads) * m.head_dim)
                                                          : 0;
  return norm * (heads + (m.pre_norms && m.post_norms ? 2 * number(m.hidden) : 0));
}

/// Elements beside the sum that the sheet writes out: an encoder's kinds of tokens and its head, or less than that sum
/// where a classifier's head stands in for a vocabulary's.
double other_parameters(const ModelConfig& m) {
  const double learned = m.position == PositionKind::learned ? number(m.positions) : 0;
  const double norm = m.norm == NormKind::layer_norm ? 2 : 1;
  return number(parameter_count(m)) - number(m.layers) * number(layer_parameter_count(m)) -
         number(m.hidden) * (number(m.vocab) * (m.tied ? 1 : 2) + learned + norm);
}

/// Of the card's usable bytes, what is kept for others.
double kept_free(const Estimate& e) {
  return e.job.card ? number(e.job.card->usable) - number(e.counters.capacity) : number(e.job.reserve);
}

std::vector<SheetInput> sheet_inputs(const Estimate& e, const Explanation& x) {
  const ModelConfig& m = e.job.model;
  const TrainOptions& r = e.job.run;
  const double tokens = number(r.micro_batch) * number(r.seq);
  const ClosedForm form = closed_form(e, x);
  return {{"layers", number(m.layers), "", "L"},
          {"hidden", number(m.hidden), "elements", "h"},
          {"heads", number(m.heads), "", "a"},
          {"kv_heads", number(m.kv_heads), "", "k"},
          {"head_dim", number(m.head_dim), "elements", "d"},
          {"ffn", number(m.ffn), "elements", "f, feed-forward width"},
          {"vocabulary", number(m.vocab), "tokens", "V"},
          {"learned_positions", m.position == PositionKind::learned ? number(m.positions) : 0, "", "0: rotary or none"},
          {"tied", m.tied ? 1.0 : 0, "0 or 1", "the head is the token embedding"},
          {"mlp_matrices", is_gated(m.mlp) ? 3.0 : 2, "", "3 with a gate"},
          {"qkv_bias", m.qkv_bias ? 1.0 : 0, "0 or 1", ""},
          {"out_bias", m.out_bias ? 1.0 : 0, "0 or 1", ""},
          {"mlp_bias", m.mlp_bias ? 1.0 : 0, "0 or 1", ""},
          {"norm_bias", m.norm == NormKind::layer_norm ? 1.0 : 0, "0 or 1", "layer norm has one, RMS norm has none"},
          {"other_layer_parameters", other_layer_parameters(m), "elements", "norms of heads, and behind each half"},
          {"other_parameters", other_parameters(m), "elements", "an encoder's kinds of tokens and head"},
          {"micro_batch", number(r.micro_batch), "sequences", "b"},
          {"seq", number(r.seq), "tokens", "s"},
          {"segments", number(segments_of(e.job)), "", "N; 0: no checkpointing"},
          {"element_bytes", number(activation_size(r)), "bytes", "p, of an activation"},
          {"weight_bytes", form.weights / number(parameter_count(m)), "bytes",
           "of a parameter in the mean, with adapters, buffers and what is stored in few bits"},
          {"trained_share", number(e.trainable) / number(parameter_count(m)), "of the parameters",
           "1: all; adapters, prompts and frozen layers train less"},
          {"gradient_bytes", number(gradient_size(r)), "bytes", "of a trained parameter's gradient"},
          {"state_bytes", states_per_parameter(e), "bytes", "of a parameter's optimizer states and master weight"},
          {"layer_token_bytes", tokens > 0 ? number(kept_by_a_layer(x)) / tokens : 0, "bytes",
           "a layer keeps for a token, as the engine found; grows with seq where attention is eager"},
          {"context_bytes", form.context, "bytes", "what CUDA takes before the first tensor"},
          {"other_bytes", number(e.counters.device_used) - form.sum(), "bytes",
           "what the closed forms do not know at this job: temporaries, the loss's copies, workspaces, the allocator's "
           "gaps; "
           "gradients that are not all alive at the peak are taken off"},
          {"kept_free_bytes", kept_free(e), "bytes", "of the card, for others"}};
}

std::vector<SheetTerm> sheet_terms(const Estimate& e, const Explanation& x) {
  const ModelConfig& m = e.job.model;
  const TrainOptions& r = e.job.run;
  const std::int64_t L = m.layers, h = m.hidden, b = r.micro_batch, s = r.seq, p = activation_size(r),
                     N = segments_of(e.job);
  const Bytes layer = kept_by_a_layer(x);
  const double parameters = number(parameter_count(m));
  const auto [weights, gradients, states, activations, logits, context] = closed_form(e, x);
  const auto engine = [&](std::string_view name) -> std::optional<double> {
    const FormulaRow* row = row_named(x, name);
    return row && row->found ? std::optional(number(*row->found)) : std::nullopt;
  };
  std::vector<SheetTerm> t;
  t.push_back({"layer parameters", "2 h a d + 2 h k d + (2 or 3) h f, biases and norms",
               "2*hidden*heads*head_dim + 2*hidden*kv_heads*head_dim + mlp_matrices*hidden*ffn + "
               "qkv_bias*(heads+2*kv_heads)*head_dim + out_bias*hidden + mlp_bias*((mlp_matrices-1)*ffn+hidden) + "
               "2*hidden*(1+norm_bias) + other_layer_parameters",
               number(layer_parameter_count(m)), false, number(layer_parameter_count(m)), "the same"});
  t.push_back(
      {"parameters", "L x layer + V h (twice where the head is its own) + positions + the last norm",
       "layers*layer_parameters + vocabulary*hidden*(2-tied) + learned_positions*hidden + hidden*(1+norm_bias) + "
       "other_parameters",
       parameters, false, number(e.parameters), freezes_model(e.job.run) ? "found: with the adapters" : "the same"});
  t.push_back({"weights", "P x bytes", "parameters*weight_bytes", weights, true, number(at_peak(e, "parameter")),
               "bytes a parameter as found: buffers, adapters and few bits in the mean"});
  t.push_back({"gradients", "P x trained share x bytes", "parameters*trained_share*gradient_bytes", gradients, true,
               number(at_peak(e, "gradient")), "found: gradients alive at the peak, which is not when all are"});
  t.push_back({"states", "P x bytes", "parameters*state_bytes", states, true,
               number(e.states) - number(at_peak(e, "parameter")), "optimizer states and master weights"});
  t.push_back({"fixed textbook", "2P + 2P + 12P", "16*parameters", 16 * parameters, true, engine("fixed"),
               "16 bits, fp32 master weights, Adam"});
  t.push_back({"simple activations", "L b s h p", "layers*micro_batch*seq*hidden*element_bytes",
               number(simple_activations(L, b, s, h, p)), true, engine("simple"), "one hidden state a layer"});
  t.push_back({"paper layer", "34 s b h + 5 a s^2 b", "34*seq*micro_batch*hidden + 5*heads*seq^2*micro_batch",
               number(korthikanti_layer(b, s, h, m.heads)), true, engine("layer"),
               "Korthikanti et al. 2022: 16 bits, eager attention, dropout"});
  t.push_back({"layer kept", "as found, scaled with tokens", "layer_token_bytes*micro_batch*seq", number(layer), true,
               number(layer), "exact for this job; scales with tokens, not with seq squared"});
  t.push_back({"boundaries", "(N+1) b s h p", "(segments+1)*micro_batch*seq*hidden*element_bytes",
               number(boundaries(N, b, s, h, p)), true, engine("boundaries"),
               "found: all that is held after forward, with head and loss"});
  t.push_back({"simple segments", "(N+1) b s h p + 2 b s h p", "boundaries + 2*micro_batch*seq*hidden*element_bytes",
               number(simple_segments(N, b, s, h, p)), true, std::nullopt, "a segment of two hidden states"});
  t.push_back({"activations", "N = 0: L layers; else boundaries and ceil(L/N) layers",
               "IF(segments=0, layers*layer_kept, boundaries + ROUNDUP(layers/MAX(segments,1),0)*layer_kept)",
               activations, true, number(e.held),
               "found: held after forward; the longest segment comes on top while it is run again"});
  t.push_back({"logits", "4 b s V", "4*micro_batch*seq*vocabulary", logits, true, std::nullopt,
               "fp32; the loss holds up to three such tensors at its peak"});
  t.push_back({"need", "weights + gradients + states + activations + logits + context + other",
               "weights+gradients+states+activations+logits+context_bytes+other_bytes", number(e.counters.device_used),
               true, number(e.counters.device_used),
               "the same at this job's inputs; an approximation at others: other_bytes stays as it is here"});
  return t;
}

}  // namespace vramplan
