#include "cli/job_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/suggest.h"
#include "base/text.h"
#include "read/data.h"
#include "read/model_config.h"
#include "render/words.h"

namespace vramplan {
namespace {

std::int64_t count_or(const std::string& text, const char* flag, std::int64_t otherwise) {
  return text.empty() ? otherwise : parse_count(text, flag);
}

double number(const std::string& text, const char* flag) {
  std::size_t used = 0;
  double v = 0;
  try {
    v = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !std::isfinite(v))
    throw UserError(fmt::format("'{}' is not a number", text), flag, "write it as 0.1", Exit::usage);
  return v;
}

template <class T, std::size_t N>
T word(const Word<T> (&words)[N], const std::string& text, const char* flag, T otherwise) {
  if (text.empty()) return otherwise;
  if (auto v = value_of(words, text)) return *v;
  const std::vector<std::string> known = all_words(words);
  throw UserError(fmt::format("'{}' is not known here", text), flag,
                  did_you_mean(text, known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
}

}  // namespace

std::vector<Flag> JobFlags::flags() {
  const std::string m = "Model", f = "A model by its sizes", r = "Run", c = "Card";
  return {
      {"--model", "NAME", "a preset; 'vramplan models' lists them", &model_, m},
      {"--config", "FILE", "a Hugging Face config.json ('-' reads standard input)", &config_, m},
      {"--layers", "L", "number of layers", &layers_, f},
      {"--hidden", "H", "hidden size", &hidden_, f},
      {"--heads", "A", "attention heads", &heads_, f},
      {"--kv-heads", "K", "key/value heads (default: heads)", &kv_heads_, f},
      {"--head-dim", "D", "head size (default: hidden / heads)", &head_dim_, f},
      {"--ffn", "F", "feed-forward width (default: 4 x hidden)", &ffn_, f},
      {"--vocab", "V", "vocabulary (default: 50257)", &vocab_, f},
      {"--norm", "KIND", "layer-norm, rms-norm, rms-norm-fused (default: layer-norm)", &norm_, f},
      {"--mlp", "KIND", "gelu, gelu-new, gelu-tanh, relu, swiglu (default: gelu)", &mlp_, f},
      {"--position", "KIND", "learned, rotary, none (default: learned)", &position_, f},
      {"--dropout", "P", "all dropouts (default: 0; for presets: as their config says)", &dropout_, f},
      {"--tied", "", "the head is the token embedding", &tied_, f},
      {"-b,--micro-batch", "B", "sequences a card takes at a time (default: 1)", &micro_batch_, r},
      {"-s,--seq", "S", "tokens per sequence; 8Ki is 8192, 8K is 8000", &seq_, r},
      {"--accumulate", "N", "micro-batches per step (default: 1)", &accumulate_, r},
      {"--precision", "KIND", "fp32, bf16, fp16, amp-bf16, amp-fp16, mixed-bf16, mixed-fp16 (default: bf16)",
       &precision_, r},
      {"--optimizer", "KIND", "adamw, adam, sgd, adafactor (default: adamw)", &optimizer_, r},
      {"--optimizer-form", "FORM", "foreach, for-loop, fused (default: foreach, as in PyTorch)", &form_, r},
      {"--momentum", "M", "of sgd (default: 0)", &momentum_, r},
      {"--weight-decay", "W", "default: 0.01 for adamw, else 0", &weight_decay_, r},
      {"--lora", "SPEC", "train adapters only: r=16,targets=all-linear,dropout=0.05,dtype=fp32 (or base)", &lora_, r},
      {"--clip", "NORM", "clip gradients to this norm", &clip_, r},
      {"--attention", "KIND", "sdpa (PyTorch chooses), eager, flash, efficient, math (default: sdpa)", &attention_, r},
      {"--score-copies", "N", "eager attention keeps N more copies of its probabilities (default: 0)", &score_copies_,
       r},
      {"--dropout-mask", "TYPE", "of eager attention's dropout mask: bool, bf16, fp16, fp32 (default: bool)",
       &dropout_mask_, r},
      {"--segments", "N", "checkpoint N runs of consecutive layers", &segments_, r},
      {"--checkpoint", "HOW", "none, per-layer, sequential:N", &checkpoint_, r},
      {"--reentrant", "", "the reentrant variant of torch.utils.checkpoint", &reentrant_, r},
      {"--keeps-output", "", "the loop holds the model's output, and so the logits, until the next one", &keeps_output_,
       r},
      {"--gpu", "NAME", "a card; 'vramplan gpus' lists them", &gpu_, c},
      {"--gpu-memory", "SIZE", "a card by its memory: 24GiB", &gpu_memory_, c},
      {"--allocator", "CONF", "native, expandable, or a PYTORCH_ALLOC_CONF (default: native)", &allocator_, c},
      {"--reserve", "SIZE", "keep this much of the card free", &reserve_, c},
  };
}

ModelConfig JobFlags::free_model(std::vector<std::string>& assumed) const {
  for (const auto& [text, flag] : {std::pair{&layers_, "--layers"}, {&hidden_, "--hidden"}, {&heads_, "--heads"}})
    if (text->empty())
      throw UserError(fmt::format("{} is missing", flag), flag,
                      "a model by its sizes needs --layers, --hidden and --heads; or name one with --model",
                      Exit::usage);
  ModelConfig c;
  c.name = "custom";
  c.architecture = Architecture::llama;  // the general block: separate projections, any norm, MLP and positions
  c.layers = parse_count(layers_, "--layers");
  c.hidden = parse_count(hidden_, "--hidden");
  c.heads = parse_count(heads_, "--heads");
  c.kv_heads = count_or(kv_heads_, "--kv-heads", c.heads);
  c.head_dim = count_or(head_dim_, "--head-dim", c.heads > 0 ? c.hidden / c.heads : 0);
  if (head_dim_.empty() && c.heads > 0 && c.hidden % c.heads != 0)
    throw UserError(fmt::format("{} heads do not divide a hidden size of {}", c.heads, c.hidden), "--heads",
                    "choose heads that divide it, or give --head-dim", Exit::usage);
  c.ffn = count_or(ffn_, "--ffn", checked_multiply(4, c.hidden));
  c.vocab = count_or(vocab_, "--vocab", 50257);
  c.norm = word(kNorms, norm_, "--norm", NormKind::layer_norm);
  c.mlp = word(kMlps, mlp_, "--mlp", MlpKind::gelu);
  c.position = word(kPositions, position_, "--position", PositionKind::learned);
  c.tied = tied_;
  c.qkv_bias = c.out_bias = c.mlp_bias = c.norm == NormKind::layer_norm;
  if (vocab_.empty()) assumed.push_back("vocabulary 50257 (GPT-2's); the logits grow with it: --vocab");
  if (norm_.empty() && mlp_.empty())
    assumed.push_back("a GPT-style block: layer norm, GELU, biases, feed-forward width " + std::to_string(c.ffn));
  return c;
}

void JobFlags::read_model(const Context& context, Job& job) const {
  const bool sizes = by_sizes();
  if (int(!model_.empty()) + int(!config_.empty()) + int(sizes) != 1)
    throw UserError(
        model_.empty() && config_.empty() && !sizes ? "no model was named" : "the model was named in more than one way",
        "--model", "give exactly one of --model NAME, --config FILE, or --layers --hidden --heads", Exit::usage);
  if (sizes) {
    job.model = free_model(job.assumptions);
  } else {
    const std::string text = config_.empty() ? Data(context.data_dir).model(model_) : read_file(config_);
    ReadConfig read = read_model_config(text, config_.empty() ? model_ : config_);
    job.model = read.config;
    job.warnings = read.warnings;
    for (const auto& [value, flag] : {std::pair{&kv_heads_, "--kv-heads"},
                                      {&head_dim_, "--head-dim"},
                                      {&ffn_, "--ffn"},
                                      {&vocab_, "--vocab"},
                                      {&norm_, "--norm"},
                                      {&mlp_, "--mlp"},
                                      {&position_, "--position"}})
      if (!value->empty())
        throw UserError(fmt::format("{} goes with --layers, --hidden and --heads", flag), flag,
                        "a preset or a config has its own value: edit a copy of the config", Exit::usage);
    if (tied_)
      throw UserError("--tied goes with --layers, --hidden and --heads", "--tied",
                      "a preset or a config says itself whether it ties", Exit::usage);
  }
  if (!dropout_.empty())
    job.model.embedding_dropout = job.model.attention_dropout = job.model.residual_dropout =
        number(dropout_, "--dropout");
}

Checkpointing JobFlags::checkpoint(const ModelConfig& model) const {
  Checkpointing c;
  c.reentrant = reentrant_;
  if (!segments_.empty()) {
    if (!checkpoint_.empty())
      throw UserError("--segments and --checkpoint exclude each other", "--segments", "give one of them", Exit::usage);
    c.kind = CheckpointKind::segments;
    c.n = parse_count(segments_, "--segments");
  } else if (checkpoint_ == "per-layer") {
    c.kind = CheckpointKind::per_layer;
  } else if (checkpoint_.starts_with("sequential:")) {
    c.kind = CheckpointKind::sequential;
    c.n = parse_count(checkpoint_.substr(11), "--checkpoint sequential:N");
  } else if (!checkpoint_.empty() && checkpoint_ != "none") {
    throw UserError(fmt::format("'{}' is not a way to checkpoint", checkpoint_), "--checkpoint",
                    did_you_mean(checkpoint_, {"none", "per-layer", "sequential:4"},
                                 "known: none, per-layer, sequential:N; or --segments N"),
                    Exit::usage);
  }
  if (c.kind == CheckpointKind::none && reentrant_)
    throw UserError("--reentrant without checkpointing has no meaning", "--reentrant",
                    "add --checkpoint per-layer or --segments N", Exit::usage);
  if (c.kind != CheckpointKind::none && c.kind != CheckpointKind::per_layer && (c.n < 1 || c.n > model.layers))
    throw UserError(fmt::format("{} segments over {} layers", c.n, model.layers),
                    segments_.empty() ? "--checkpoint" : "--segments", fmt::format("ask for 1 to {}", model.layers),
                    Exit::usage);
  return c;
}

/// "r=16,targets=q_proj+v_proj,dropout=0.05,dtype=base"
Lora JobFlags::lora() const {
  Lora l;
  for (std::string_view rest = lora_; !rest.empty();) {
    const std::string item = take_item(rest, ',');
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals), value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (key == "r") {
      l.rank = parse_count(value, "--lora r");
    } else if (key == "dropout") {
      l.dropout = number(value, "--lora dropout");
    } else if (key == "dtype") {
      l.full_precision = word(kAdapterTypes, value, "--lora dtype", true);
    } else if (key == "targets") {
      l.targets.clear();
      for (std::string_view names = value; !names.empty();) l.targets.push_back(take_item(names, '+'));
    } else {
      throw UserError(fmt::format("'{}' is not a part of an adapter", item), "--lora",
                      did_you_mean(key, {"r", "targets", "dropout", "dtype"},
                                   "write r=16,targets=q_proj+v_proj,dropout=0.05,dtype=fp32"),
                      Exit::usage);
    }
  }
  static const std::vector<std::string> known{"q_proj",    "k_proj",  "v_proj",    "o_proj",
                                              "gate_proj", "up_proj", "down_proj", "all-linear"};
  for (const std::string& t : l.targets)
    if (std::find(known.begin(), known.end(), t) == known.end())
      throw UserError(fmt::format("'{}' is not a module that can have an adapter", t), "--lora targets",
                      did_you_mean(t, known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
  if (l.rank < 1 || l.dropout < 0 || l.dropout >= 1)
    throw UserError("an adapter needs a rank of at least 1 and a dropout below 1", "--lora",
                    "for example r=16,dropout=0.05", Exit::usage);
  return l;
}

void JobFlags::read_kept(TrainOptions& r) const {
  if (r.attention != AttentionForm::eager && (!score_copies_.empty() || !dropout_mask_.empty()))
    throw UserError("fused attention keeps no probabilities",
                    score_copies_.empty() ? "--dropout-mask" : "--score-copies", "add --attention eager", Exit::usage);
  r.score_copies = count_or(score_copies_, "--score-copies", 0);
  if (r.score_copies > 8) throw UserError("more than 8 copies", "--score-copies", "ask for 0 to 8", Exit::usage);
  r.dropout_mask = word(kMaskTypes, dropout_mask_, "--dropout-mask", DType::boolean);
}

void JobFlags::read_run(Job& job) const {
  TrainOptions& r = job.run;
  if (seq_.empty())
    throw UserError("the sequence length is missing", "--seq", "give tokens per sequence: --seq 2048", Exit::usage);
  r.seq = parse_count(seq_, "--seq");
  r.micro_batch = count_or(micro_batch_, "--micro-batch", 1);
  r.accumulate = count_or(accumulate_, "--accumulate", 1);
  r.precision = word(kPrecisions, precision_, "--precision", Precision::bf16);
  r.optimizer.kind = word(kOptimizers, optimizer_, "--optimizer", OptimizerKind::adamw);
  r.optimizer.form = word(kForms, form_, "--optimizer-form", OptimizerForm::foreach);
  if (r.optimizer.kind == OptimizerKind::adafactor && r.optimizer.form == OptimizerForm::fused)
    throw UserError("Adafactor has no fused form", "--optimizer-form", "use foreach or for-loop", Exit::usage);
  r.optimizer.momentum = momentum_.empty() ? 0 : number(momentum_, "--momentum");
  r.optimizer.weight_decay = weight_decay_.empty() ? (r.optimizer.kind == OptimizerKind::adamw ? 0.01 : 0.0)
                                                   : number(weight_decay_, "--weight-decay");
  r.attention = word(kAttentions, attention_, "--attention", AttentionForm::sdpa);
  read_kept(r);
  if (!lora_.empty()) r.lora = lora();
  if (!clip_.empty()) r.clip = number(clip_, "--clip");
  r.keeps_output = keeps_output_;
  r.checkpoint = checkpoint(job.model);
  if (by_sizes()) {
    job.model.positions = std::max<std::int64_t>(r.seq, 1);
    check_model_config(job.model, "the model given by its sizes");
  }
  if (micro_batch_.empty()) job.assumptions.push_back("micro-batch 1: --micro-batch");
  if (precision_.empty())
    job.assumptions.push_back("everything in bf16, 8 bytes a parameter with Adam; amp keeps 16: --precision");
  if (optimizer_.empty() && form_.empty())
    job.assumptions.push_back(
        "AdamW in PyTorch's foreach form, one more copy of the parameters in the step; --optimizer-form fused makes "
        "none");
}

void JobFlags::read_card(const Context& context, Job& job) const {
  if (!gpu_.empty() && !gpu_memory_.empty())
    throw UserError("--gpu and --gpu-memory exclude each other", "--gpu", "give one of them", Exit::usage);
  if (!gpu_.empty()) job.card = find_card(Data(context.data_dir).gpus(), gpu_);
  if (!gpu_memory_.empty()) job.card = card_of_size(parse_bytes(gpu_memory_));
  if (allocator_ == "expandable")
    job.allocator = "expandable_segments:True";
  else if (allocator_ != "native")
    job.allocator = allocator_;
  if (!reserve_.empty()) job.reserve = parse_bytes(reserve_);
  if (job.card && job.card->compute_capability > 0)
    job.run.device = {job.card->compute_capability, job.card->multiprocessors};
  else
    job.assumptions.push_back("attention kernels as on sm_80 (A100)");
}

Job JobFlags::job(const Context& context) const {
  Job j;
  read_model(context, j);
  read_run(j);
  read_card(context, j);
  return j;
}

}  // namespace vramplan
