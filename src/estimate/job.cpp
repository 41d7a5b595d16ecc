#include "vramplan/estimate/job.h"

#include <fmt/format.h>

#include "estimate/ranges.h"
#include "train/checkpoint_policy.h"
#include "train/trainer.h"
#include "vramplan/base/error.h"

namespace vramplan {

namespace {

template <class Need>
void check_optimizer(const TrainOptions& r, Need need) {
  const Optimizer& o = r.optimizer;
  const bool adam = o.kind == OptimizerKind::adam || o.kind == OptimizerKind::adamw;
  need(o.kind != OptimizerKind::adafactor || o.form != OptimizerForm::fused, "Adafactor has no fused form",
       "--optimizer-form", "use foreach or for-loop");
  need(!o.amsgrad || (adam && o.states == StateStorage::as_parameter), "only torch.optim's Adam and AdamW have amsgrad",
       "--amsgrad", "leave it out");
  need(!o.fp32_embeddings || o.states == StateStorage::blockwise, "only 8-bit optimizers choose per parameter",
       "--fp32-embedding-states", "use --optimizer adamw8bit");
  need(!o.in_backward || (r.accumulate == 1 && !r.clip && o.kind != OptimizerKind::muon),
       "a step in backward leaves no gradients to accumulate, to clip or to sort", "--optimizer-in-backward",
       "leave out --accumulate, --clip and muon");
  need(!o.on_host || (!o.in_backward && !o.paged), "the host's optimizer takes its step after backward", "--offload",
       "leave out --optimizer-in-backward and paging");
}

/// What is modelled of models with an encoder.
template <class Need>
void check_encoder(const Job& job, Need need) {
  const TrainOptions& r = job.run;
  const ModelConfig& m = job.model;
  need((r.loss.form == LossForm::masked) == (m.encoder() && m.labels == 0),
       "encoders predict masked tokens or classify, and only they predict masked tokens", "--loss",
       m.encoder() ? "leave it out: --loss masked" : "leave it out");
  need((r.loss.form == LossForm::sequence_to_sequence) == m.two_stacks(),
       "only a model with an encoder and a decoder has a source and a target, and it has no other loss", "--loss",
       "leave it out");
  if (m.decoder() || m.architecture == Architecture::textbook) return;
  need(!r.prompt, "virtual tokens before an encoder are not modelled",
       r.prompt && r.prompt->prefix ? "--prefix-tuning" : "--prompt-tuning", "use --lora");
  need(!r.quant, "a model with an encoder in few bits is not modelled", "--quant", "leave it out");
  need(!r.lora || r.lora->saved.empty(), "modules of an encoder trained whole beside adapters are not modelled",
       "--lora save", "leave it out");
  need(!r.use_cache, "the model fills no key/value cache when it is given labels", "--use-cache", "leave it out");
}

/// What is modelled of an encoder and a decoder in one.
template <class Need>
void check_two_stacks(const Job& job, Need need) {
  const TrainOptions& r = job.run;
  const ModelConfig& m = job.model;
  need(m.two_stacks() || r.target_seq == 0, "the model has no target beside its sequence", "--target-seq",
       "leave it out, or name a sequence-to-sequence model: bart-base");
  if (!m.two_stacks()) return;
  need(
      target_length(r) <= m.positions,
      fmt::format("a target of {} is longer than the {} learned positions of the model", target_length(r), m.positions),
      "--target-seq", fmt::format("at most --target-seq {}", m.positions));
  need(!r.fp8, "8-bit floats in a model of two stacks are not modelled", "--fp8", "leave it out");
  const Checkpointing& k = r.checkpoint;
  need(!k.on_host, "the encoder's last state, which every layer of the decoder needs, is not offloaded", "--checkpoint",
       "leave out on-host");
  need(k.kind != CheckpointKind::cuts, "cuts are not modelled in a model of two stacks", "--checkpoint",
       "use per-layer or segments, which cut both stacks alike");
  cut_layers(k, m.source.layers);
}

template <class Need>
void check_fp8(const Job& job, Need need) {
  const TrainOptions& r = job.run;
  const ModelConfig& m = job.model;
  if (!r.fp8) return;
  need(m.architecture != Architecture::gpt2 && m.architecture != Architecture::textbook,
       "Transformer Engine replaces nn.Linear, which this model's layers are not made of", "--fp8", "leave it out");
  need(!freezes_model(r), "8-bit floats beside a frozen model are not modelled", "--fp8", "leave it out");
  need(r.precision != Precision::fp32, "8-bit floats are multiplied into 16-bit results", "--fp8",
       "use --precision bf16, amp-bf16 or mixed-bf16");
  need(r.checkpoint.kind == CheckpointKind::none,
       "checkpointing with 8-bit floats (transformer_engine.pytorch.checkpoint) is not modelled", "--fp8",
       "leave out checkpointing");
  need(!job.card || r.device.compute_capability >= 89,
       fmt::format("sm_{} has no products of 8-bit floats", r.device.compute_capability), "--fp8",
       "name an Ada, Hopper or Blackwell card");
  const std::int64_t width = m.heads * m.head_dim, kv_width = m.kv_heads * m.head_dim;
  bool wide = true;
  for (std::int64_t n : {m.hidden, m.ffn, width, kv_width}) wide = wide && n % 16 == 0;
  need(wide && (r.micro_batch % 8 * (r.seq % 8)) % 8 == 0,
       "8-bit products need widths that are multiples of 16 and a micro-batch of a multiple of 8 tokens", "--fp8",
       "change --seq or --micro-batch");
}

/// Frozen layers, and gradients that never come.
template <class Need>
void check_frozen(const Job& job, Need need) {
  const TrainOptions& r = job.run;
  const bool frozen_input = freezes_model(r) || r.frozen_layers;
  need(
      r.input_grads || !frozen_input || !r.checkpoint.reentrant,
      "reentrant checkpointing of an input that wants no gradient gives none to what is in the segment: nothing before "
      "the head would be trained",
      "--no-input-grads", "leave out --reentrant, or let the input have a gradient");
  if (!r.frozen_layers) return;
  const std::int64_t n = *r.frozen_layers;
  need(n >= 0 && n <= job.model.layers, fmt::format("{} layers cannot be frozen of {}", n, job.model.layers),
       "--freeze", fmt::format("give 0 to {}", job.model.layers));
  need(!freezes_model(r), "the model under adapters or virtual tokens is frozen already", "--freeze", "leave it out");
  need(!job.model.two_stacks(), "some layers of two stacks frozen are not modelled", "--freeze", "leave it out");
  need(job.model.architecture != Architecture::textbook, "the textbook block has no embeddings", "--freeze",
       "name a model");
  need(!r.fp8, "8-bit floats in frozen layers are not modelled", "--freeze", "leave it out");
  need(trainable_count(job.model, r) > 0, "nothing is left to train", "--freeze", "freeze fewer layers");
}

template <class Need>
void check_prompt(const Job& job, Need need) {
  const TrainOptions& r = job.run;
  if (!r.prompt) return;
  const char* flag = r.prompt->prefix ? "--prefix-tuning" : "--prompt-tuning";
  need(!r.lora, "virtual tokens and adapters are not trained at once", flag, "leave out --lora");
  need(job.model.architecture != Architecture::textbook, "the textbook block has no tokens", flag, "name a model");
  need(r.loss.form == LossForm::causal || r.loss.form == LossForm::shifted,
       "with virtual tokens the loss is the model's own", "--loss", "leave it out");
  need(!r.prompt->prefix || r.checkpoint.kind == CheckpointKind::none,
       "a prefix is a cache, which checkpointing turns off: peft refuses both", "--prefix-tuning",
       "leave out checkpointing, or use --prompt-tuning");
}

}  // namespace

bool on_cuda(const Job& job) { return !job.card || has_cuda(*job.card); }

std::optional<std::int64_t> longest_allowed(const Job& job) {
  if (job.model.position != PositionKind::learned) return std::nullopt;
  return job.model.positions - job.model.first_position - (job.run.prompt ? job.run.prompt->tokens : 0);
}

void set_seq(Job& job, std::int64_t seq) {
  job.run.seq = seq;
  if (job.positions_follow_seq) job.model.positions = seq;
}

Precision usual_precision(const std::optional<Card>& card) {
  return card && !has_bf16(*card) ? Precision::amp_fp16 : Precision::bf16;
}

void set_card(Job& job, const Card& card) {
  job.card = card;
  job.run.device = {card.compute_capability, card.multiprocessors};
  if (job.usual_precision) job.run.precision = usual_precision(job.card);
}

bool computes_in_bf16(const TrainOptions& run) {
  return autocast_type(run.precision).value_or(parameter_type(run.precision)) == DType::bf16;
}

namespace {

/// Layers are cut, and adapters made, once before the run: what cannot be done says why itself.
void check_layers(const Job& job) {
  cut_layers(job.run.checkpoint, job.model.layers);
  adapter_count(job.model, job.run);
}

void check_all(const Job& job) {
  check_ranges(job);
  const TrainOptions& r = job.run;
  auto need = [](bool ok, const std::string& what, const char* where, const std::string& hint) {
    if (!ok) throw UserError(what, where, hint, Exit::usage);
  };
  const std::int64_t longest = longest_allowed(job).value_or(r.seq);
  need(r.seq <= longest,
       fmt::format("a sequence of {} is longer than the {} learned positions of the model leave room for", r.seq,
                   job.model.positions),
       "--seq", longest >= 1 ? fmt::format("at most --seq {}", longest) : "take fewer virtual tokens");
  need(!r.lora || job.model.architecture != Architecture::textbook, "the textbook block has no adapters", "--lora",
       "name a model");
  check_encoder(job, need);
  check_two_stacks(job, need);
  check_frozen(job, need);
  check_prompt(job, need);
  check_fp8(job, need);
  check_optimizer(r, need);
  need(!r.fp32_gradients || (has_master_weights(r.precision) && !r.ddp && !r.optimizer.in_backward),
       "gradients are added up in fp32 for fp32 master weights", "--fp32-gradients",
       "use --precision mixed-bf16, without --ddp and --optimizer-in-backward");
  need(!r.grad_scaler || (autocast_type(r.precision) && !r.optimizer.in_backward && !r.optimizer.on_host &&
                          r.optimizer.kind != OptimizerKind::muon),
       "a GradScaler goes with autocast and one optimizer on the card", "--grad-scaler",
       "use --precision amp-fp16, without --optimizer-in-backward, --offload and muon");
  need(!r.use_cache || r.checkpoint.kind == CheckpointKind::none, "checkpointing turns the key/value cache off",
       "--use-cache", "leave it out: transformers does");
  need(!r.ddp || !r.optimizer.in_backward, "DDP reduces gradients that a step in backward has freed", "--ddp",
       "leave out --optimizer-in-backward");
  need(r.loss.form != LossForm::chunked || (r.loss.chunks >= 1 && r.loss.chunks <= r.seq),
       "the loss must have 1 part or more, and at most one a token", "--loss", "for example --loss chunked:8");
  need((r.loss.form != LossForm::shifted && r.loss.form != LossForm::smoothed) || r.seq >= 2,
       "shifted labels need at least 2 tokens", "--seq", "give --seq 2 or more");
  need(r.loss.form != LossForm::fused_linear || !autocast_type(r.precision),
       "the fused linear loss under autocast is not modelled", "--loss", "use --precision bf16, or another loss");
  need(r.loss.form == LossForm::causal || job.model.architecture != Architecture::textbook,
       "the textbook block has a loss of its own", "--loss", "name a model");
  need(classifies(r.loss.form) == (job.model.labels > 0) && job.model.labels <= 1 << 24,
       "a classifier needs 1 to 16,777,216 labels", "--loss", "for example --loss classification:2");
  need(!r.quant || freezes_model(r), "a model in few bits is frozen: nothing is left to train", "--quant",
       "add --lora r=16");
  need(!r.quant || job.model.architecture != Architecture::gpt2, "GPT-2's Conv1D layers in few bits are not modelled",
       "--quant", "leave it out");
  need(!r.quant || !(r.quant->doubled && r.quant->kind == QuantKind::int8), "int8 has no second scales", "--quant",
       "leave out 'double'");
  need(!r.lora || r.lora->saved.empty() || job.model.architecture != Architecture::gpt2,
       "modules trained whole beside GPT-2's adapters are not modelled", "--lora save", "leave it out");
  need(!job.model.multipliers ||
           (r.loss.form != LossForm::chunked && r.loss.form != LossForm::fused_linear && !classifies(r.loss.form)),
       "this loss is not modelled behind logits that are divided, as Granite's are", "--loss", "leave it out");
  const bool on_embedding = r.lora && adapters_of(job.model, r).targets_embedding;
  need(!on_embedding || (!r.lora->dora && !r.quant && r.lora->saved.empty()),
       "an adapter on the embedding goes with neither DoRA, nor few bits, nor modules trained whole here",
       "--lora targets", "leave the embedding out");
  need(r.checkpoint.kind != CheckpointKind::selective || job.model.decoder(),
       "parts of the layers are recomputed alone in decoder models only", "--checkpoint", "use per-layer or segments");
  check_layers(job);
}

}  // namespace

CheckedJob check_job(Job job) {
  check_all(job);
  return CheckedJob(std::move(job));
}

std::string why_not_runnable(const Job& job) {
  try {
    check_all(job);
    return {};
  } catch (const UserError& e) {
    return e.what();
  }
}

}  // namespace vramplan
