#include "read/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "read/json_object.h"
#include "read/not_expressed.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// ---- what was measured ----

struct Unit {
  std::string_view name;
  double bytes;
};
// Longer names first. unsloth's MB are those of PyTorch's examples, 2^20.
constexpr std::array<Unit, 5> kUnits{
    {{"bytes", 1}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"GB", 1e9}, {"MB", 1048576.0}}};

Bytes bytes_of(const JsonObject& m) {
  const std::string unit = m.text("unit");
  for (const Unit& u : kUnits)
    if (unit.starts_with(u.name))
      return Bytes(static_cast<std::uint64_t>(std::llround(m.number_or("value", 0) * u.bytes)));
  throw NotExpressed{"unit " + unit};
}

struct Kind {
  std::string_view name;
  MeasuredKind kind;
};
constexpr std::array<Kind, 7> kKinds{{{"peak_allocated", MeasuredKind::allocated},
                                      {"peak_active", MeasuredKind::allocated},
                                      {"peak_reserved", MeasuredKind::reserved},
                                      {"nvidia_smi", MeasuredKind::device_used},
                                      {"nvml_process_peak", MeasuredKind::device_used},
                                      {"fits", MeasuredKind::fits},
                                      {"oom", MeasuredKind::oom}}};

MeasuredKind kind_of(const std::string& name) {
  for (const Kind& k : kKinds)
    if (k.name == name) return k.kind;
  throw NotExpressed{"counter " + name};
}

// ---- the model ----

/// Biases that a family has and its rows leave unsaid.
bool has_qkv_bias(std::string_view name) { return contains(name, "qwen"); }

void refuse_family(const std::string& name) {
  struct Family {
    std::string_view name, why;
  };
  constexpr std::array<Family, 18> families{{{"falcon", "Falcon"},
                                             {"gemma", "Gemma"},
                                             {"phi", "Phi"},
                                             {"vit", "vision models"},
                                             {"bert", "BERT"},
                                             {"chatglm", "ChatGLM"},
                                             {"baichuan2-13b", "Baichuan with ALiBi"},
                                             {"amoebanet", "AmoebaNet"},
                                             {"resnet", "vision models"},
                                             {"mobilenet", "vision models"},
                                             {"efficientnet", "vision models"},
                                             {"timm", "vision models"},
                                             {"inception", "vision models"},
                                             {"vgg", "vision models"},
                                             {"xception", "vision models"},
                                             {"xlnet", "XLNet"},
                                             {"afm", "AFM"},
                                             {"hunyuan", "Hunyuan"}}};
  for (const Family& f : families)
    if (contains(name, f.name)) throw NotExpressed{"architecture: " + std::string(f.why)};
}

std::int64_t size(const JsonObject& dims, const char* key) {
  if (!dims.has(key)) throw NotExpressed{fmt::format("the row does not state '{}'", key)};
  const nlohmann::ordered_json& v = dims.raw(key);
  if (!v.is_number_integer()) throw NotExpressed{fmt::format("'{}' is not one number", key)};
  return v.get<std::int64_t>();
}

ModelConfig gpt2_of(ModelConfig c) {
  c.architecture = Architecture::gpt2;
  c.norm = NormKind::layer_norm;
  c.mlp = MlpKind::gelu_new;
  c.position = PositionKind::learned;
  c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.1;
  c.positions = 1024;
  return c;
}

/// The model of the sizes given whose parameters are as many as stated; ties and biases are what a row may leave open.
ModelConfig model_of_sizes(const JsonObject& o) {
  std::string name = o.text("model");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  refuse_family(name);
  const JsonObject dims = o.object("dims");
  ModelConfig c;
  c.name = name;
  c.layers = size(dims, "layers");
  c.hidden = size(dims, "hidden");
  c.heads = size(dims, "heads");
  c.kv_heads = size(dims, "kv_heads");
  c.ffn = size(dims, "intermediate");
  c.vocab = size(dims, "vocab");
  if (c.heads < 1 || c.hidden < 1) throw NotExpressed{"sizes below 1"};
  c.head_dim = dims.integer_or("head_dim", c.hidden / c.heads);
  c.positions = 1 << 30;
  if (contains(name, "gpt2") || contains(name, "gpt-2")) return gpt2_of(c);
  if (dims.has("gated_mlp") && !dims.boolean_or("gated_mlp", true))
    throw NotExpressed{"architecture: an ungated block"};
  c.architecture = Architecture::llama;
  c.qkv_bias = has_qkv_bias(name);
  if (!o.has("params")) throw NotExpressed{"the row does not state 'params'"};
  const std::int64_t stated = o.integer("params");
  for (bool tied : {false, true}) {
    c.tied = tied;
    if (parameter_count(c) == stated) return c;
  }
  throw NotExpressed{"the sizes given do not make the parameters stated"};
}

// ---- the run ----

struct PrecisionWord {
  std::string_view text;  ///< the row's begins so
  Precision precision;
  std::optional<Quantisation> quant;
};

void precision(const JsonObject& o, TrainOptions& t) {
  static const std::array<PrecisionWord, 16> words{
      {{"fp32 (amp not stated)", Precision::fp32, {}},
       {"fp32 (not stated)", Precision::fp32, {}},
       {"fp32 or mixed", Precision::fp32, {}},
       {"fp32", Precision::fp32, {}},
       {"bf16-true + bitsandbytes nf4-dq", Precision::bf16, Quantisation{QuantKind::nf4, true, false}},
       {"bf16-true + bitsandbytes nf4", Precision::bf16, Quantisation{QuantKind::nf4, false, false}},
       {"bf16 + int4 (bnb) base", Precision::bf16, Quantisation{QuantKind::nf4, true, false}},
       {"bf16 + NF4 base", Precision::bf16, Quantisation{QuantKind::nf4, true, false}},
       {"bf16/fp16 + NF4 base", Precision::bf16, Quantisation{QuantKind::nf4, true, false}},
       {"bf16-true", Precision::bf16, {}},
       {"bf16-mixed (fp32 base", Precision::amp_bf16, {}},
       {"bf16 autocast", Precision::amp_bf16, {}},
       {"bf16 AMP, fp32 weights", Precision::amp_bf16, {}},
       {"fp16 mixed", Precision::amp_fp16, {}},
       {"bfloat16", Precision::bf16, {}},
       {"bf16, fp32 master", Precision::mixed_bf16, {}}}};
  const std::string text = o.text("precision");
  if (contains(text, "not stated")) throw NotExpressed{"the precision is not stated"};
  if (text == "bf16") {
    t.precision = Precision::bf16;
    return;
  }
  for (const PrecisionWord& w : words)
    if (text.starts_with(w.text)) {
      t.precision = w.precision;
      t.quant = w.quant;
      return;
    }
  throw NotExpressed{"precision " + text};
}

void optimizer(const JsonObject& o, const MeasuredRow& row, TrainOptions& t) {
  const std::string text = o.text("optimizer");
  if (contains(text, "not stated")) throw NotExpressed{"the optimizer is not stated"};
  if (text == "none") throw NotExpressed{"not a training step: no optimizer"};
  for (const char* other : {"GaLore", "torchao", "ao-fp8", "lora-fa", "one block", "RMSprop"})
    if (contains(text, other)) throw NotExpressed{"optimizer " + text};
  if (!text.starts_with("Adam")) throw NotExpressed{"optimizer " + text};
  t.optimizer.kind = text.starts_with("AdamW") ? OptimizerKind::adamw : OptimizerKind::adam;
  if (contains(text, "8-bit") || contains(text, "8bit")) t.optimizer.states = StateStorage::blockwise;
  if (contains(text, "fused")) t.optimizer.form = OptimizerForm::fused;
  const bool course = row.source == "cs336";  // whose assignment is to write AdamW
  if (contains(text, "own implementation") || course) t.optimizer.form = OptimizerForm::for_loop;
}

void checkpointing(const JsonObject& o, TrainOptions& t) {
  const std::string text = o.text("checkpointing");
  if (text.starts_with("none")) return;
  if (!text.starts_with("full") || contains(text, "offload") || contains(text, "FSDP"))
    throw NotExpressed{"checkpointing: " + text};
  t.checkpoint.kind = CheckpointKind::per_layer;
}

void attention(const JsonObject& o, TrainOptions& t) {
  const std::string text = o.text("attention_impl");
  if (text.starts_with("eager") || text.starts_with("unfused"))
    t.attention = AttentionForm::eager;
  else if (contains(text, "SDPA") || contains(text, "flash"))
    t.attention = AttentionForm::sdpa;
  else
    throw NotExpressed{"attention: " + text};
}

/// The loss of the code that made the rows.
void loss(const JsonObject& o, const MeasuredRow& row, TrainOptions& t) {
  constexpr std::int64_t kChunk = 128;
  t.loss.form = row.source == "cs336" ? LossForm::plain : row.source == "peft" ? LossForm::causal : LossForm::shifted;
  for (const nlohmann::ordered_json& f : o.raw("fused_ops")) {
    const std::string text = f.is_string() ? f.get<std::string>() : "";
    if (contains(text, "chunked cross-entropy (lm_head chunk 128)"))
      t.loss = {LossForm::chunked, (t.seq + kChunk - 1) / kChunk, false};
    else if (text != "hf" && text != "fa2" && text != "HF + flash-attn 2")
      throw NotExpressed{"fused: " + text};
  }
}

void adapters(const JsonObject& o, TrainOptions& t, const std::string& method) {
  if (!method.starts_with("LoRA") && !method.starts_with("QLoRA") && !method.starts_with("LORA"))
    throw NotExpressed{"adapter: " + method.substr(0, method.find_first_of(" {"))};
  if (!o.has("lora")) throw NotExpressed{"the adapter's rank is not stated"};
  const JsonObject l = o.object("lora");
  Lora lora;
  lora.rank = l.integer("r");
  lora.full_precision = !o.text("precision").starts_with("bf16-true");
  const std::string targets = l.text_or("targets", "");
  if (targets == "q,v" || targets == "query,value")
    lora.targets = {"q_proj", "v_proj"};
  else if (contains(targets, "c_attn") || targets == "default")
    lora.targets = {"q_proj", "k_proj", "v_proj"};
  else if (targets == "all linear")
    lora.targets = {"all-linear"};
  else
    throw NotExpressed{"adapters on " + targets};
  t.lora = lora;
}

struct DeviceWord {
  std::string_view text;
  Device device;
};
constexpr std::array<DeviceWord, 8> kDevices{{{"A100", {80, 108}},
                                              {"A10G", {86, 80}},
                                              {"H100", {90, 132}},
                                              {"L40S", {89, 142}},
                                              {"4090", {89, 128}},
                                              {"4070", {89, 66}},
                                              {"3090", {86, 82}},
                                              {"T4", {75, 40}}}};

void run(const JsonObject& o, MeasuredRow& row) {
  TrainOptions& t = row.options;
  const std::string method = o.text("method");
  if (contains(method, "forward")) throw NotExpressed{"not a training step: " + method};
  if (!o.has("micro_batch")) throw NotExpressed{"the micro-batch is not stated"};
  if (!o.has("seq")) throw NotExpressed{"the sequence length is not stated"};
  t.micro_batch = o.integer("micro_batch");
  t.seq = o.integer("seq");
  precision(o, t);
  optimizer(o, row, t);
  checkpointing(o, t);
  attention(o, t);
  loss(o, row, t);
  if (row.kind_of_run == "lora")
    adapters(o, t, method);
  else if (!method.starts_with("full") && !method.starts_with("pretraining"))
    throw NotExpressed{"method: " + method};
  const std::string gpu = o.text_or("gpu", "");
  for (const DeviceWord& d : kDevices)
    if (contains(gpu, d.text)) t.device = d.device;
}

bool is_adapter(const std::string& method) {
  for (const char* word : {"LoRA", "LORA", "Adapter", "ADA", "IA3", "TUNING", "{"})
    if (contains(method, word)) return true;
  return false;
}

void read_row(const JsonObject& o, MeasuredRow& row) {
  if (o.text_or("scope", "job") != "job") throw NotExpressed{"a part of a step: " + o.text_or("scope", "")};
  if (row.kind_of_run == "several-gpus") throw NotExpressed{"several GPUs"};
  if (o.text_or("completeness", "") == "low") throw NotExpressed{"the source leaves inputs open (completeness low)"};
  const JsonObject measured = o.object("measured");
  row.kind = kind_of(measured.text("kind"));
  row.value = bytes_of(measured);
  row.after_context = contains(measured.text("unit"), "usable");
  row.config = model_of_sizes(o);
  run(o, row);
}

}  // namespace

bool is_measurement(std::string_view line) { return contains(line, "\"measured\"") && contains(line, "\"dims\""); }

MeasuredRow read_measurement(std::string_view line, const std::string& where) {
  const nlohmann::ordered_json value = parse_json(line, where);
  const JsonObject o(value, where);
  MeasuredRow row;
  row.id = o.text("id");
  row.source = row.id.substr(0, row.id.find('-'));
  row.states_all = o.text_or("completeness", "") == "high";
  const bool one = o.has("num_gpus") && o.integer_or("num_gpus", 0) == 1;
  row.kind_of_run = !one ? "several-gpus" : is_adapter(o.text_or("method", "")) ? "lora" : "single-gpu";
  try {
    read_row(o, row);
  } catch (const NotExpressed& n) {
    row.not_expressed = n.why;
  }
  return row;
}

}  // namespace vramplan
