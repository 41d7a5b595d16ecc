#include "read/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "read/json_object.h"
#include "read/model_config.h"
#include "read/not_expressed.h"
#include "train/words.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using nlohmann::ordered_json;

Tally tally(const JsonObject& o, std::string_view key) {
  const ordered_json& v = o.raw(key);
  if (!v.is_array() || v.size() < 2 || !v[0].is_number_unsigned() || !v[1].is_number_unsigned())
    o.fail(key, "expected [requested, rounded]");
  return {Bytes(v[0].get<std::uint64_t>()), Bytes(v[1].get<std::uint64_t>())};
}

GoldenStep step(const JsonObject& o) {
  return {tally(o, "peak_forward"),   tally(o, "after_forward"), tally(o, "peak_backward"), tally(o, "after_backward"),
          tally(o, "peak_optimizer"), tally(o, "after_step"),    tally(o, "end"),           tally(o, "peak")};
}

std::vector<GoldenRow> rows(const ordered_json& list) {
  std::vector<GoldenRow> out;
  for (const ordered_json& r : list) {
    if (!r.is_array() || r.size() != 7) continue;
    if (!r[5].is_number_integer() || !r[6].is_number_unsigned())
      throw UserError("a tensor's count and bytes must be whole numbers", r.dump(), "record the case again");
    out.push_back({r[0].get<std::string>(), r[1].get<std::string>(), r[2].get<std::string>(), r[3].get<std::string>(),
                   r[4].dump(), r[5].get<std::int64_t>(), Bytes(r[6].get<std::uint64_t>())});
  }
  return out;
}

/// The value of a name of ours.
template <class T, std::size_t N>
T word(const Word<T> (&words)[N], const std::string& name, const char* what) {
  const auto value = value_of(words, name);
  if (!value) throw NotExpressed{std::string(what) + " " + name};
  return *value;
}

Optimizer optimizer(const JsonObject& o) {
  Optimizer out;
  const std::string name = o.text("name");
  if (!read_optimizer_word(out, name)) throw NotExpressed{"optimizer " + name};
  out.form = word(kForms, o.text_or("impl", "foreach"), "optimizer form");
  out.momentum = o.number_or("momentum", 0);
  out.weight_decay = o.number_or("weight_decay", out.kind == OptimizerKind::adamw ? 0.01 : 0.0);
  out.amsgrad = o.boolean_or("amsgrad", false);
  out.in_backward = o.boolean_or("in_backward", false);
  out.fp32_embeddings = o.boolean_or("fp32_embeddings", false);
  return out;
}

struct CheckpointWord {
  std::string_view name;
  CheckpointKind kind;
};
constexpr CheckpointWord kCheckpoints[]{
    {"none", CheckpointKind::none},          {"layer", CheckpointKind::per_layer},
    {"segments", CheckpointKind::segments},  {"sequential", CheckpointKind::sequential},
    {"every", CheckpointKind::every},        {"first", CheckpointKind::first},
    {"selective", CheckpointKind::selective}};

Checkpointing checkpoint(const JsonObject& o) {
  Checkpointing out;
  const std::string kind = o.text("kind");
  const auto* known = std::find_if(std::begin(kCheckpoints), std::end(kCheckpoints),
                                   [&](const CheckpointWord& w) { return w.name == kind; });
  if (known == std::end(kCheckpoints)) throw NotExpressed{"checkpoint kind " + kind};
  out.kind = known->kind;
  out.n = o.integer_or("n", 0);
  out.reentrant = o.boolean_or("reentrant", false);
  out.on_host = o.boolean_or("on_host", false);
  for (const PartWord& p : kParts) out.parts.*p.part = o.boolean_or(p.name, false);
  return out;
}

ModelConfig textbook(const JsonObject& m) {
  ModelConfig c;
  c.architecture = Architecture::textbook;
  c.layers = m.integer("layers");
  c.hidden = m.integer("hidden");
  c.heads = c.kv_heads = m.integer("heads");
  c.head_dim = c.hidden / std::max<std::int64_t>(c.heads, 1);
  c.ffn = 4 * c.hidden;
  c.norm = NormKind::layer_norm;
  c.mlp = MlpKind::gelu;
  c.position = PositionKind::none;
  c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.attention_dropout = c.residual_dropout = m.number_or("dropout", 0);
  check_model_config(c, "textbook");
  return c;
}

ModelConfig model(const JsonObject& m) {
  const std::string source = m.text("source");
  if (source == "textbook") return textbook(m);
  const std::string kind = m.text_or("class", "");
  if (source != "hf" ||
      (kind != "causal_lm" && kind != "sequence_classification" && kind != "masked_lm" && kind != "seq2seq_lm"))
    throw NotExpressed{source == "hf" ? "model class " + m.text_or("class", "?") : "models of " + source};
  try {
    const ModelConfig c = model_config_of(m.raw("config"), m.text_or("family", "config")).config;
    const bool classes = kind == "sequence_classification";
    if ((c.encoder() && !classes) != (kind == "masked_lm") || c.two_stacks() != (kind == "seq2seq_lm"))
      throw NotExpressed{"model class " + kind + " of " + m.text_or("family", "?")};
    return !classes ? c : classifier(c, m.object("config").integer_or("num_labels", 2));
  } catch (const UserError& e) {
    throw NotExpressed{e.what()};
  }
}

Lora lora(const JsonObject& o) {
  Lora l;
  l.rank = o.integer("r");
  l.dropout = o.number_or("dropout", 0);
  l.dora = o.boolean_or("dora", false);
  const std::string dtype = o.text_or("adapter_dtype", "fp32");
  if (dtype != "fp32" && dtype != "bf16" && dtype != "fp16") throw NotExpressed{"adapters in " + dtype};
  l.full_precision = dtype == "fp32";
  if (o.has("saved"))
    for (const ordered_json& m : o.raw("saved"))
      if (m.is_string()) l.saved.push_back(m.get<std::string>());
  const ordered_json& targets = o.raw("targets");
  l.targets.clear();
  if (targets.is_string())
    l.targets.push_back(targets.get<std::string>());
  else if (targets.is_array())
    for (const ordered_json& t : targets)
      if (t.is_string()) l.targets.push_back(t.get<std::string>());
  return l;
}

/// Of a classifier's config; nothing: a single label.
LossForm label_form(const JsonObject& config) {
  const std::string problem = config.text_or("problem_type", "single_label_classification");
  if (problem == "regression") return LossForm::regression;
  return problem == "multi_label_classification" ? LossForm::multi_label : LossForm::classification;
}

void inputs(const JsonObject& in, GoldenCase& g) {
  g.config = model(in.object("model"));
  TrainOptions& t = g.options;
  t.micro_batch = in.integer("b");
  t.seq = in.integer("s");
  t.precision = word(kPrecisions, in.text("precision"), "precision");
  const JsonObject attention = in.object("attention");
  t.attention = word(kAttentions, attention.text("asked"), "attention");
  if (const std::string kernel = attention.text_or("kernel", "cuda"); kernel == "math")
    t.attention = AttentionForm::math;
  else if (kernel != "cuda")
    throw NotExpressed{"attention kernel " + kernel};
  t.checkpoint = checkpoint(in.object("checkpoint"));
  t.optimizer = optimizer(in.object("optimizer"));
  t.keeps_output = in.text_or("caller", "loss_only") == "keeps_output";
  t.accumulate = in.integer_or("grad_accum", 1);
  t.ema = in.boolean_or("ema", false);
  t.grad_scaler = in.boolean_or("grad_scaler", false);
  if (in.has("loop")) {
    const JsonObject l = in.object("loop");
    t.zero_in_place = !l.boolean_or("set_to_none", true);
    t.use_cache = l.boolean_or("use_cache", false);
    t.evaluate = l.boolean_or("evaluate", false);
  }
  if (in.has("ddp")) {
    t.ddp = true;
    t.bucket_views = in.object("ddp").boolean_or("views", false);
  }
  if (in.has("lora")) {
    const JsonObject l = in.object("lora");
    if (l.has("prompt"))
      t.prompt = PromptTuning{l.integer("prompt")};
    else if (l.has("prefix"))
      t.prompt = PromptTuning{l.integer("prefix"), true, l.integer_or("projection", 0)};
    else
      t.lora = lora(l);
    if (g.config.architecture == Architecture::textbook) throw NotExpressed{"LoRA on this architecture"};
  }
  t.loss.form = own_loss(g.config);
  if (g.config.labels > 0) t.loss.form = label_form(in.object("model").object("config"));
  if (in.has("loss")) {
    const JsonObject l = in.object("loss");
    t.loss.form = word(kLosses, l.text("form"), "loss");
    t.loss.chunks = l.integer_or("chunks", t.loss.chunks);
    t.loss.upcast = l.boolean_or("upcast", true);
  }
  t.target_seq = in.integer_or("s_target", 0);
  if (in.has("fp8")) t.fp8 = word(kFp8Recipes, in.text("fp8"), "fp8 recipe");
  if (in.has("quant")) {
    const JsonObject q = in.object("quant");
    t.quant = Quantisation{word(kQuantKinds, q.text("type"), "quantisation"), q.boolean_or("double", false),
                           q.boolean_or("prepare", false)};
  }
  if (in.has("clip")) t.clip = in.number_or("clip", 1);
  t.clip_for_loop = !in.boolean_or("clip_foreach", true);
  if (in.has("freeze")) t.frozen_layers = in.integer("freeze");
  t.input_grads = in.boolean_or("input_grads", true);
}

/// Cards that counters are known of.
constexpr std::pair<const char*, Device> kCards[]{
    {"a100", {80, 108}},     {"h100", {90, 132}},  {"t4", {75, 40}},        {"rtx-3090", {86, 82}},
    {"rtx-4090", {89, 128}}, {"b200", {100, 148}}, {"rtx-5090", {120, 170}}};

std::vector<GoldenCounters> counters(const JsonObject& cuda) {
  std::vector<GoldenCounters> out;
  for (const auto& [gpu, capability] : kCards) {
    if (!cuda.has(gpu)) continue;
    const JsonObject peaks = cuda.object(gpu).object("step2");
    const ordered_json& peak = peaks.raw("peak");  // [requested, allocated, reserved]
    if (!peak.is_array() || peak.size() != 3 || !peak[1].is_number_unsigned() || !peak[2].is_number_unsigned())
      peaks.fail("peak", "expected [requested, allocated, reserved]");
    out.push_back({gpu, capability, Bytes(peak[1].get<std::uint64_t>()), Bytes(peak[2].get<std::uint64_t>())});
  }
  return out;
}

/// Between kernels the card's requested bytes are those of tensors.
void only_counters(const JsonObject& cuda, GoldenCase& g) {
  g.counters = counters(cuda);
  if (g.counters.empty()) cuda.fail("a100", "neither tensors nor counters of a known card");
  const JsonObject card = cuda.object(g.counters.front().gpu);
  g.options.device = g.counters.front().device;
  g.ready = {tally(card, "ready").requested, {}};
  g.held = {tally(card, "after_forward").requested - g.ready.requested, {}};
}

void results(const JsonObject& r, GoldenCase& g) {
  g.parameters = r.integer("params");
  g.trainable = r.integer_or("trainable_params", g.parameters);
  if (!r.has("step1")) return only_counters(r.object("cuda"), g);
  g.options.device.mask_alignment =
      16;  // of the device that listed the tensors; the cards whose counters follow have 8
  g.ready = tally(r, "ready");
  g.held = tally(r, "held_after_forward");
  g.steps = {step(r.object("step1")), step(r.object("step2"))};
  if (r.has("held")) g.held_rows = rows(r.raw("held"));
  if (r.has("at_peak")) {
    const JsonObject peak = r.object("at_peak");
    g.peak_phase = peak.text("phase");
    g.peak_rows = rows(peak.raw("rows"));
  }
  if (r.has("cuda")) g.counters = counters(r.object("cuda"));
}

}  // namespace

GoldenCase read_golden(std::string_view line, const std::string& where) {
  const ordered_json value = parse_json(line, where);
  const JsonObject o(value, where);
  GoldenCase g;
  g.id = o.text("id");
  g.group = o.text_or("group", "");
  results(o.object("results"), g);
  try {
    inputs(o.object("inputs"), g);
  } catch (const NotExpressed& n) {
    g.not_expressed = n.why;
  }
  return g;
}

}  // namespace vramplan
