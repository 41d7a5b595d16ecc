#include "cli/run_flags.h"

#include <algorithm>

#include "base/text.h"
#include "cli/values.h"

namespace vramplan {

std::vector<Flag> RunFlags::flags() {
  const std::string r = "Run";
  return {
      {"-b,--micro-batch", "B", "sequences a card takes at a time (default: 1)", &micro_batch_, r},
      {"-s,--seq", "S", "tokens per sequence; 8Ki is 8192, 8K is 8000", &seq_, r},
      {"--target-seq", "S", "tokens of each target of a sequence-to-sequence model (default: --seq)", &target_seq_, r},
      {"--accumulate", "N", "micro-batches per step (default: 1)", &accumulate_, r},
      {"--precision", "KIND",
       "fp32, tf32, bf16, fp16; amp- or mixed- with 16 bits (default: bf16; amp-fp16 before sm_80)", &precision_, r},
      {"--optimizer", "KIND",
       "adamw, adam, sgd, adafactor, muon; bitsandbytes' lion, lion8bit, adamw8bit, adam8bit, adamw32bit; paged-lion, "
       "paged-lion8bit, paged-adamw8bit, paged-adamw32bit (default: adamw)",
       &optimizer_, r},
      {"--optimizer-form", "FORM", "foreach, for-loop, fused (default: foreach, as in PyTorch; fused under mixed-*)",
       &form_, r},
      {"--momentum", "M", "of sgd (default: 0)", &momentum_, r},
      {"--weight-decay", "W", "default: 0.01 for adamw, else 0", &weight_decay_, r},
      {"--amsgrad", "", "of adam and adamw: a third state", &amsgrad_, r},
      {"--optimizer-in-backward", "", "update each parameter in backward and free its gradient at once", &in_backward_,
       r},
      {"--fp32-embedding-states", "", "8-bit optimizers: embeddings in fp32, as Hugging Face's Trainer asks",
       &fp32_embeddings_, r},
      {"--offload", "WHAT",
       "to the host: optimizer (states, fp32 weights and the step), boundaries (of checkpointed layers), or both "
       "joined "
       "by a comma",
       &offload_, r},
      {"--grad-scaler", "", "under autocast: torch.amp.GradScaler around backward and step", &grad_scaler_, r},
      {"--ema", "", "an averaged copy of the model", &ema_, r},
      {"--fp32-gradients", "", "of mixed-*: gradients are added up in fp32, as Megatron does (2 + 4 + 12)",
       &fp32_gradients_, r},
      {"--zero-in-place", "", "zero_grad(set_to_none=False): gradients stay", &zero_in_place_, r},
      {"--use-cache", "", "the model fills a key/value cache while it is trained", &use_cache_, r},
      {"--evaluate", "", "a forward pass in eval mode after each step", &evaluate_, r},
      {"--ddp", "HOW", "one replica of DistributedDataParallel: copies (gradients and buckets) or views (buckets only)",
       &ddp_, r},
      {"--lora", "SPEC",
       "train adapters only: r=16,targets=all-linear,alpha=32,rslora,dora,dropout=0.05,dtype=fp32 (or base),"
       "save=embed_tokens+lm_head",
       &lora_, r},
      {"--prompt-tuning", "TOKENS", "train a prompt of so many embeddings only, before those of --seq (peft)", &prompt_,
       r},
      {"--prefix-tuning", "SPEC",
       "train keys and values of so many tokens only, before those of every layer (peft): 20, or 20,projection=512",
       &prefix_, r},
      {"--quant", "SPEC",
       "the frozen model in few bits by bitsandbytes: nf4, fp4 or int8; nf4,double,upcast: scales in 8 bits too, and "
       "the rest in fp32 (prepare_model_for_kbit_training)",
       &quant_, r},
      {"--fp8", "RECIPE",
       "linear layers in 8-bit floats, as Transformer Engine has them, scaled the delayed or the current way "
       "(confidence: low)",
       &fp8_, r},
      {"--freeze", "N", "the embeddings and the first N layers are not trained; 0: the embeddings alone", &freeze_, r},
      {"--clip", "NORM", "clip gradients to this norm; 1,for-loop: without foreach kernels", &clip_, r},
      {"--attention", "KIND", "sdpa (PyTorch chooses), eager, flash, efficient, math (default: sdpa)", &attention_, r},
      {"--score-copies", "N", "eager attention keeps N more copies of its probabilities (default: 0)", &score_copies_,
       r},
      {"--dropout-mask", "TYPE", "of eager attention's dropout mask: bool, bf16, fp16, fp32 (default: bool)",
       &dropout_mask_, r},
      {"--segments", "N", "checkpoint N runs of consecutive layers", &segments_, r},
      {"--checkpoint", "HOW",
       "none, per-layer, segments:N, sequential:N, every:K, first:K, cuts:8+8+plain4 (runs of these lengths), or parts "
       "of all layers: selective:attention+mlp+activation+norms",
       &checkpoint_, r},
      {"--reentrant", "", "the reentrant variant of torch.utils.checkpoint", &reentrant_, r},
      {"--no-input-grads", "",
       "checkpointing without enable_input_require_grads: frozen layers keep nothing; transformers enables it itself",
       &no_input_grads_, r},
      {"--loss", "FORM",
       "causal (transformers), shifted (before 4.46), plain (logits as they are), smoothed (Trainer's label "
       "smoothing), chunked:N (torchtune), fused-linear (Liger); with a head of N labels classification:N, "
       "multi-label:N, regression:N (default: the model's own, causal, masked of encoders or seq2seq)",
       &loss_, r},
      {"--keeps-output", "", "the loop holds the model's output, and so the logits, until the next one", &keeps_output_,
       r},
  };
}

namespace {

struct Way {
  std::string_view name;
  CheckpointKind kind;
  bool numbered;
};
constexpr Way kWays[]{{"none", CheckpointKind::none, false},        {"per-layer", CheckpointKind::per_layer, false},
                      {"segments", CheckpointKind::segments, true}, {"sequential", CheckpointKind::sequential, true},
                      {"every", CheckpointKind::every, true},       {"first", CheckpointKind::first, true}};

RecomputedParts parts_of(std::string_view list) {
  RecomputedParts out;
  if (list.empty())
    throw UserError("no part of a layer was named", "--checkpoint selective:PARTS",
                    "known: attention, mlp, activation, norms, joined by +", Exit::usage);
  while (!list.empty()) {
    const std::string item = take_item(list, '+');
    bool found = false;
    for (const PartWord& p : kParts)
      if (p.name == item) out.*p.part = found = true;
    if (!found)
      throw UserError(fmt::format("'{}' is not a part of a layer", item), "--checkpoint selective:PARTS",
                      did_you_mean(item, {"attention", "mlp", "activation", "norms"},
                                   "known: attention, mlp, activation, norms, joined by +"),
                      Exit::usage);
  }
  return out;
}

/// "8+8+plain4"
std::vector<std::int64_t> runs_of(std::string_view list) {
  constexpr std::string_view kPlain = "plain";
  constexpr std::int64_t kMostLayers = 1 << 20;
  std::vector<std::int64_t> out;
  while (!list.empty()) {
    std::string item = take_item(list, '+');
    const bool plain = item.starts_with(kPlain);
    if (plain) item.erase(0, kPlain.size());
    const std::int64_t n = parse_count(item, "--checkpoint cuts");
    if (n < 1 || n > kMostLayers)
      throw UserError(fmt::format("a run of {} layers", n), "--checkpoint cuts", "for example cuts:8+8+plain4",
                      Exit::usage);
    out.push_back(plain ? -n : n);
  }
  return out;
}

/// "per-layer", "every:2", "selective:attention+mlp"
Checkpointing checkpoint_named(const std::string& text) {
  Checkpointing c;
  std::string_view rest = text;
  const std::string name = take_item(rest, ':');
  if (name == "selective") {
    c.kind = CheckpointKind::selective;
    c.parts = parts_of(rest);
    return c;
  }
  if (name == "cuts") {
    c.kind = CheckpointKind::cuts;
    c.runs = runs_of(rest);
    return c;
  }
  for (const Way& w : kWays) {
    if (w.name != name || w.numbered != (text.find(':') != std::string::npos)) continue;
    c.kind = w.kind;
    if (w.numbered) c.n = parse_count(std::string(rest), "--checkpoint");
    return c;
  }
  throw UserError(fmt::format("'{}' is not a way to checkpoint", text), "--checkpoint",
                  did_you_mean(text,
                               {"none", "per-layer", "segments:4", "sequential:4", "every:2", "first:8", "cuts:8+8",
                                "selective:attention"},
                               "known: none, per-layer, segments:N, sequential:N, every:K, first:K, cuts:8+8+plain4, "
                               "selective:attention+mlp+activation+norms"),
                  Exit::usage);
}

}  // namespace

Checkpointing RunFlags::checkpoint(const ModelConfig& model) const {
  if (!segments_.empty() && !checkpoint_.empty())
    throw UserError("--segments and --checkpoint exclude each other", "--segments", "give one of them", Exit::usage);
  Checkpointing c;
  if (!segments_.empty())
    c = {CheckpointKind::segments, parse_count(segments_, "--segments"), false};
  else if (!checkpoint_.empty())
    c = checkpoint_named(checkpoint_);
  c.reentrant = reentrant_;
  c.on_host = offloads("boundaries");
  const bool whole_layers = c.kind != CheckpointKind::none && c.kind != CheckpointKind::selective;
  if (!whole_layers && (reentrant_ || c.on_host))
    throw UserError("only checkpointed layers have boundaries", reentrant_ ? "--reentrant" : "--offload boundaries",
                    "add --checkpoint per-layer or --segments N", Exit::usage);
  if (whole_layers && c.kind != CheckpointKind::per_layer && c.kind != CheckpointKind::cuts &&
      (c.n < 1 || c.n > model.layers))
    throw UserError(fmt::format("{} segments over {} layers", c.n, model.layers),
                    segments_.empty() ? "--checkpoint" : "--segments", fmt::format("ask for 1 to {}", model.layers),
                    Exit::usage);
  return c;
}

void RunFlags::read_loss(Job& job) const {
  if (loss_.empty()) {
    job.run.loss.form = own_loss(job.model);
    return;
  }
  LossChoice& l = job.run.loss;
  std::string_view rest = loss_;
  const std::string name = take_item(rest, ':');
  l.form = word(kLosses, name, "--loss", LossForm::causal);
  const bool chunked = l.form == LossForm::chunked, labels = classifies(l.form);
  if (!rest.empty() && !chunked && !labels)
    throw UserError(fmt::format("'{}' takes no number", name), "--loss",
                    "only chunked:N, classification:N, multi-label:N and regression:N do", Exit::usage);
  const std::string number(rest), flag = fmt::format("--loss {}:N", name);
  if (chunked && !number.empty()) l.chunks = parse_count(number, flag.c_str());
  const std::int64_t usual = l.form == LossForm::regression ? 1 : 2;
  if (labels) job.model = classifier(job.model, number.empty() ? usual : parse_count(number, flag.c_str()));
}

void RunFlags::read_clip(TrainOptions& r) const {
  if (clip_.empty()) return;
  std::string_view rest = clip_;
  r.clip = number(take_item(rest, ','), "--clip");
  if (!rest.empty() && rest != "for-loop" && rest != "foreach")
    throw UserError(fmt::format("'{}' is not a form of clipping", rest), "--clip",
                    did_you_mean(std::string(rest), {"for-loop", "foreach"}, "write --clip 1,for-loop"), Exit::usage);
  r.clip_for_loop = rest == "for-loop";
}

void RunFlags::read_kept(TrainOptions& r) const {
  if (r.attention != AttentionForm::eager && (!score_copies_.empty() || !dropout_mask_.empty()))
    throw UserError("fused attention keeps no probabilities",
                    score_copies_.empty() ? "--dropout-mask" : "--score-copies", "add --attention eager", Exit::usage);
  r.score_copies = count_or(score_copies_, "--score-copies", 0);
  r.dropout_mask = word(kMaskTypes, dropout_mask_, "--dropout-mask", DType::boolean);
}

bool RunFlags::offloads(std::string_view what) const {
  bool found = false;
  for (std::string_view rest = offload_; !rest.empty();) {
    const std::string item = take_item(rest, ',');
    if (item != "optimizer" && item != "boundaries")
      throw UserError(fmt::format("'{}' can not be offloaded", item), "--offload",
                      did_you_mean(item, {"optimizer", "boundaries"}, "known: optimizer, boundaries"), Exit::usage);
    found = found || item == what;
  }
  return found;
}

Optimizer RunFlags::optimizer(Precision precision) const {
  Optimizer o;
  const OptimizerWord named = word(kOptimizers, optimizer_, "--optimizer", OptimizerWord{OptimizerKind::adamw});
  o.kind = named.kind;
  o.states = named.states;
  o.paged = named.paged;
  if (!form_.empty() && o.states != StateStorage::as_parameter)
    throw UserError("bitsandbytes' optimizers have one form", "--optimizer-form", "leave it out", Exit::usage);
  o.momentum = momentum_.empty() ? 0 : number(momentum_, "--momentum");
  o.weight_decay = weight_decay_.empty()
                       ? (o.kind == OptimizerKind::adamw || o.kind == OptimizerKind::muon ? 0.01 : 0.0)
                       : number(weight_decay_, "--weight-decay");
  o.amsgrad = amsgrad_;
  o.in_backward = in_backward_;
  o.fp32_embeddings = fp32_embeddings_;
  o.on_host = offloads("optimizer");
  o.form = word(kForms, form_, "--optimizer-form", usual_form(o, precision));
  return o;
}

std::int64_t RunFlags::target_length_given() const {
  const std::int64_t n = parse_count(target_seq_, "--target-seq");
  if (n == 0) throw UserError("a target of no tokens", "--target-seq", "leave it out, or give 1 or more", Exit::usage);
  return n;
}

void RunFlags::read(Job& job) const {
  TrainOptions& r = job.run;
  if (seq_.empty())
    throw UserError("the sequence length is missing", "--seq", "give tokens per sequence: --seq 2048", Exit::usage);
  r.seq = parse_count(seq_, "--seq");
  if (!target_seq_.empty()) r.target_seq = target_length_given();
  r.micro_batch = count_or(micro_batch_, "--micro-batch", 1);
  r.accumulate = count_or(accumulate_, "--accumulate", 1);
  r.precision = word(kPrecisions, precision_, "--precision", usual_precision(job.card));
  job.usual_precision = precision_.empty();
  r.optimizer = optimizer(r.precision);
  r.ema = ema_;
  r.grad_scaler = grad_scaler_;
  r.fp32_gradients = fp32_gradients_;
  r.zero_in_place = zero_in_place_;
  r.use_cache = use_cache_;
  r.evaluate = evaluate_;
  r.ddp = !ddp_.empty();
  r.bucket_views = word(kBuckets, ddp_, "--ddp", false);
  r.attention = word(kAttentions, attention_, "--attention", AttentionForm::sdpa);
  read_kept(r);
  if (!lora_.empty()) r.lora = lora(job.model);
  read_loss(job);
  r.prompt = prompt();
  if (!quant_.empty()) r.quant = quantisation();
  if (!fp8_.empty()) r.fp8 = word(kFp8Recipes, fp8_, "--fp8", Fp8Recipe::delayed);
  if (!freeze_.empty()) r.frozen_layers = parse_count(freeze_, "--freeze");
  read_clip(r);
  r.keeps_output = keeps_output_;
  r.checkpoint = checkpoint(job.model);
  r.input_grads = !no_input_grads_;
  assume(job);
}

void RunFlags::assume(Job& job) const {
  if (micro_batch_.empty()) job.assumptions.push_back("micro-batch 1: --micro-batch");
  if (job.run.evaluate && job.run.checkpoint.kind != CheckpointKind::none)
    job.assumptions.push_back("checkpointing is off in eval mode, where nothing is kept for a backward pass");
  if (job.model.two_stacks() && job.run.target_seq == 0)
    job.assumptions.push_back("targets as long as their sources: --target-seq");
  if (precision_ == "tf32")
    job.assumptions.push_back(
        "TF32 saves no byte: tensors are fp32, and only products round what they multiply; times are those of fp32");
  if (precision_.empty())
    job.assumptions.push_back(
        job.run.precision == Precision::bf16
            ? "everything in bf16, 8 bytes a parameter with Adam; amp keeps 16: --precision"
            : fmt::format("fp16 under autocast over fp32 weights, for {} has no bf16 arithmetic: --precision",
                          job.card->name));
  if (form_.empty() && job.run.optimizer.form == OptimizerForm::fused)
    job.assumptions.push_back(
        "the optimizer in its fused form, as Apex, DeepSpeed and Megatron update fp32 weights: no copy of the "
        "parameters in the step; --optimizer-form foreach makes one");
  if (optimizer_.empty() && form_.empty() && job.run.optimizer.form == OptimizerForm::foreach)
    job.assumptions.push_back(
        "AdamW in PyTorch's foreach form, one more copy of the parameters in the step; --optimizer-form fused makes "
        "none");
  if (job.run.quant && !job.run.quant->upcast)
    job.assumptions.push_back(
        "embeddings, norms and head stay in 16 bits; prepare_model_for_kbit_training makes them fp32: --quant "
        "KIND,upcast");
  if (job.run.optimizer.states == StateStorage::blockwise && !fp32_embeddings_)
    job.assumptions.push_back(
        "8-bit states for embeddings too; Hugging Face's Trainer keeps them in fp32: --fp32-embedding-states");
}

}  // namespace vramplan
