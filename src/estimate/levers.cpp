#include "estimate/levers.h"

#include <fmt/format.h>

namespace vramplan {
namespace {

using Use = std::optional<LeverUse>;

bool adam_like(const Optimizer& o) {
  return (o.kind == OptimizerKind::adam || o.kind == OptimizerKind::adamw) && o.states == StateStorage::as_parameter;
}

Use sdpa(Job& j) {
  if (j.run.attention != AttentionForm::eager && j.run.attention != AttentionForm::math) return {};
  j.run.attention = AttentionForm::sdpa;
  return LeverUse{"--attention sdpa", "attn_implementation=\"sdpa\""};
}

Use drop_output(Job& j) {
  if (!j.run.keeps_output) return {};
  j.run.keeps_output = false;
  return LeverUse{"without --keeps-output", "keep loss.item(), not the output"};
}

Use no_cache(Job& j) {
  if (!j.run.use_cache) return {};
  j.run.use_cache = false;
  return LeverUse{"without --use-cache", "model.config.use_cache = False"};
}

Use no_buckets(Job& j) {
  if (!j.run.ddp || j.run.bucket_views) return {};
  j.run.bucket_views = true;
  return LeverUse{"--ddp views", "DistributedDataParallel(..., gradient_as_bucket_view=True)"};
}

Use fused_optimizer(Job& j) {
  Optimizer& o = j.run.optimizer;
  const bool torch = adam_like(o) || o.kind == OptimizerKind::sgd;
  if (!torch || o.form == OptimizerForm::fused || o.on_host) return {};
  o.form = OptimizerForm::fused;
  return LeverUse{"--optimizer-form fused", "optim=\"adamw_torch_fused\""};
}

Use expandable(Job& j) {
  if (!j.allocator.empty() || !on_cuda(j)) return {};
  j.allocator = "expandable_segments:True";
  return LeverUse{"--allocator expandable", "PYTORCH_ALLOC_CONF=expandable_segments:True"};
}

Use checkpoint(Job& j, const Checkpointing& how, const char* flag, const char* setting) {
  if (j.run.checkpoint.kind == CheckpointKind::per_layer || j.run.checkpoint.kind == how.kind || j.run.use_cache ||
      (how.kind == CheckpointKind::selective && j.run.checkpoint.kind != CheckpointKind::none) ||
      (how.kind == CheckpointKind::selective && !j.model.decoder()))
    return {};
  const bool reentrant = j.run.checkpoint.reentrant, on_host = j.run.checkpoint.on_host;
  j.run.checkpoint = how;
  j.run.checkpoint.reentrant = reentrant;
  j.run.checkpoint.on_host = on_host;
  return LeverUse{flag, setting};
}

Use checkpoint_cheap(Job& j) {
  return checkpoint(j, {CheckpointKind::selective, 0, false, {false, false, true, true}, false},
                    "--checkpoint selective:activation+norms", "--recompute-modules layernorm (Megatron)");
}

Use checkpoint_scores(Job& j) {
  if (j.run.attention != AttentionForm::eager && j.run.attention != AttentionForm::math) return {};
  return checkpoint(j, {CheckpointKind::selective, 0, false, {true, false, false, false}, false},
                    "--checkpoint selective:attention", "--recompute-granularity selective (Megatron)");
}

Use checkpoint_layers(Job& j) {
  return checkpoint(j, {CheckpointKind::per_layer, 0, false, {}, false}, "--checkpoint per-layer",
                    "gradient_checkpointing=True");
}

bool plain_loss(const Job& j) {
  return j.model.decoder() && j.run.loss.form != LossForm::chunked && j.run.loss.form != LossForm::fused_linear &&
         !classifies(j.run.loss.form) && !j.run.keeps_output;
}

Use chunked_loss(Job& j) {
  if (!plain_loss(j) || j.run.seq < 8 || j.run.loss.form == LossForm::smoothed) return {};
  j.run.loss = {LossForm::chunked, 8};
  return LeverUse{"--loss chunked:8", "loss=LinearCrossEntropyLoss, num_output_chunks=8 (torchtune)"};
}

Use fused_loss(Job& j) {
  const bool amp = j.run.precision == Precision::amp_bf16 || j.run.precision == Precision::amp_fp16;
  if (!plain_loss(j) || amp || !on_cuda(j) || j.run.loss.form == LossForm::smoothed) return {};
  j.run.loss = {LossForm::fused_linear};
  return LeverUse{"--loss fused-linear", "use_liger_kernel=True"};
}

Use halve_micro_batch(Job& j) {
  if (j.run.micro_batch % 2 != 0 || j.run.optimizer.in_backward) return {};
  j.run.micro_batch /= 2;
  j.run.accumulate *= 2;
  return LeverUse{fmt::format("--micro-batch {} --accumulate {}", j.run.micro_batch, j.run.accumulate),
                  fmt::format("per_device_train_batch_size={}, gradient_accumulation_steps={}", j.run.micro_batch,
                              j.run.accumulate)};
}

Use step_in_backward(Job& j) {
  Optimizer& o = j.run.optimizer;
  if (o.in_backward || o.on_host || o.kind == OptimizerKind::muon || j.run.accumulate != 1 || j.run.clip || j.run.ddp ||
      j.run.fp32_gradients)
    return {};
  o.in_backward = true;
  return LeverUse{"--optimizer-in-backward", "optimizer_in_bwd=True (torchtune)"};
}

Use eight_bit(Job& j) {
  Optimizer& o = j.run.optimizer;
  if (!adam_like(o) || o.amsgrad || o.on_host || !on_cuda(j)) return {};
  const bool had_form = o.form != usual_form(o, j.run.precision);
  o.form = OptimizerForm::foreach;
  o.states = StateStorage::blockwise;
  return LeverUse{fmt::format("--optimizer {}8bit{}", o.kind == OptimizerKind::adamw ? "adamw" : "adam",
                              had_form ? " without --optimizer-form" : ""),
                  "optim=\"adamw_bnb_8bit\""};
}

Use adafactor(Job& j) {
  Optimizer& o = j.run.optimizer;
  if (!adam_like(o) || o.amsgrad || o.on_host || freezes_model(j.run)) return {};
  if (o.kind == OptimizerKind::adamw && o.weight_decay == 0.01) o.weight_decay = 0;  // the default of each
  o.kind = OptimizerKind::adafactor;
  const bool fused = o.form == OptimizerForm::fused;
  if (fused) o.form = OptimizerForm::foreach;
  return LeverUse{fused ? "--optimizer adafactor --optimizer-form foreach" : "--optimizer adafactor",
                  "optim=\"adafactor\""};
}

Use host_optimizer(Job& j) {
  Optimizer& o = j.run.optimizer;
  if (o.on_host || o.in_backward || o.paged || j.run.checkpoint.on_host || !adam_like(o) || o.amsgrad) return {};
  o.on_host = true;
  return LeverUse{"--offload optimizer", "\"offload_optimizer\": {\"device\": \"cpu\"} (DeepSpeed)"};
}

Use sixteen_bit(Job& j) {
  if (parameter_type(j.run.precision) != DType::fp32 || j.run.quant) return {};
  j.run.precision = Precision::bf16;
  return LeverUse{"--precision bf16", "dtype=torch.bfloat16"};
}

Use lora(Job& j) {
  if (freezes_model(j.run) || !j.model.decoder() || j.run.fp32_gradients) return {};
  j.run.lora = Lora{16, {"all-linear"}};
  return LeverUse{"--lora r=16,targets=all-linear", "LoraConfig(r=16, target_modules=\"all-linear\")"};
}

Use four_bit(Job& j) {
  if (!freezes_model(j.run) || j.run.quant || !on_cuda(j)) return {};
  j.run.quant = Quantisation{QuantKind::nf4};
  return LeverUse{"--quant nf4", "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\")"};
}

Use halve_sequence(Job& j) {
  if (j.run.seq % 2 != 0 || j.run.seq < 4) return {};
  set_seq(j, j.run.seq / 2);
  return LeverUse{fmt::format("--seq {}", j.run.seq), fmt::format("max_length={}", j.run.seq)};
}

constexpr Lever kLevers[]{
    {"output", true, "", drop_output},
    {"cache", true, "", no_cache},
    {"attention", true, "", sdpa},
    {"form", true, "", fused_optimizer},
    {"buckets", true, "", no_buckets},
    {"allocator", true, "", expandable},
    {"loss", true, "", fused_loss},
    {"loss", true, "", chunked_loss},
    {"checkpoint", true, "", checkpoint_cheap},
    {"checkpoint", true, "", checkpoint_scores},
    {"checkpoint", true, "", checkpoint_layers},
    {"micro-batch", true, "", halve_micro_batch},
    {"backward", true, "no accumulation, no clipping", step_in_backward},
    {"optimizer", false, "states in 8 bits", eight_bit},
    {"optimizer", false, "another optimizer", adafactor},
    {"optimizer", true, "the host takes the step: time not known", host_optimizer},
    {"precision", false, "weights and states in bf16", sixteen_bit},
    {"lora", false, "only adapters are trained", lora},
    {"quant", false, "frozen weights in 4 bits", four_bit},
    {"seq", false, "shorter sequences", halve_sequence},
};

}  // namespace

std::span<const Lever> all_levers() { return kLevers; }

}  // namespace vramplan
