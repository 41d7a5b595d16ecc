#include "train/trainer.h"

#include <algorithm>

#include "tape/elementwise.h"

#include "model/projections.h"
#include "train/checkpoint_policy.h"
#include "train/clipping.h"
#include "train/run_size.h"

namespace vramplan {
namespace {

Weights make_all(Tape& t, const ModelConfig& c, const TrainOptions& options) {
  check_run_size(c, options);
  t.device = options.device;
  const DType dtype = unquantised_type(options);
  if (!freezes_model(options)) {
    Weights w = make_weights(t, c, dtype);
    if (options.frozen_layers) freeze_first(c, *options.frozen_layers, w);
    if (options.fp8) convert_to_fp8(t, c, *options.fp8 == Fp8Recipe::delayed, w);
    return w;
  }
  const Adapters adapters = adapters_of(c, options);
  if (!options.quant) return make_weights(t, c, dtype, &adapters);
  const DType loaded = loaded_type(options);
  const WeightStorage storage{options.quant->kind != QuantKind::int8, options.quant->doubled, loaded,
                              loaded == DType::fp16 ? DType::fp16 : DType::bf16, options.quant->upcast};
  return make_weights(t, c, loaded, &adapters, &storage);
}

}  // namespace

Adapters adapters_of(const ModelConfig& c, const TrainOptions& options) {
  if (options.prompt) {
    Adapters prompt;
    prompt.prompt = *options.prompt;
    return prompt;
  }
  const Lora& lora = *options.lora;
  auto saves = [&](const char* module) {
    return std::find(lora.saved.begin(), lora.saved.end(), module) != lora.saved.end();
  };
  Adapters a;
  a.rank = lora.rank, a.dropout = lora.dropout, a.scale = lora.scale(), a.dora = lora.dora;
  a.dtype = lora.full_precision ? DType::fp32 : parameter_type(options.precision);
  a.targets_embedding = embedding_path(c) && lora.names_module(embedding_path(c));
  a.saves_embedding = saves("embed_tokens");
  a.saves_head = saves("lm_head") || c.labels > 0;  // peft's task SEQ_CLS saves the classifier's
  a.targets = [lora](const std::string& path) { return lora.targets_module(path); };
  return a;
}

std::int64_t trainable_count(const ModelConfig& c, const TrainOptions& options) {
  if (freezes_model(options)) return adapter_count(c, options);
  return parameter_count(c) - (options.frozen_layers ? frozen_parameter_count(c, *options.frozen_layers) : 0);
}

std::int64_t adapter_count(const ModelConfig& c, const TrainOptions& options) {
  return freezes_model(options) ? adapter_parameter_count(c, adapters_of(c, options)) : 0;
}

AttentionChoice attention_choice(const TrainOptions& options) {
  AttentionChoice c;
  c.recomputed = options.checkpoint.parts;
  if (options.use_cache || (options.prompt && options.prompt->prefix)) c.cache = std::make_shared<KeyValueCache>();
  c.uses_cache = options.use_cache;
  c.kept.extra_copies = options.score_copies;
  c.kept.mask = options.dropout_mask;
  switch (options.attention) {
    case AttentionForm::eager: c.eager = true; break;
    case AttentionForm::math: c.kernel = SdpaKernel::math; break;
    case AttentionForm::flash: c.kernel = SdpaKernel::flash; break;
    case AttentionForm::efficient: c.kernel = SdpaKernel::efficient; break;
    case AttentionForm::sdpa: break;
  }
  return c;
}

Trainer::Trainer(Backend& backend, const ModelConfig& c, const TrainOptions& options)
    : config_(c),
      options_(options),
      memory_(backend, ledger_),
      tape_(memory_),
      weights_(make_all(tape_, c, options)),
      optimizer_(tape_, options.optimizer, has_master_weights(options.precision), weights_.trainable),
      attention_(attention_choice(options)),
      run_(layer_runner(options.checkpoint)) {
  if (options.fp32_gradients) make_main_gradients();
  if (options.ema) make_average();
  if (options.ddp) buckets_.emplace(tape_, weights_.trainable, options.bucket_views);
  if (options.grad_scaler)
    scaler_.emplace(tape_, weights_.trainable,
                    options.optimizer.form == OptimizerForm::fused &&
                        options.optimizer.states == StateStorage::as_parameter &&
                        options.optimizer.kind != OptimizerKind::lion);
  make_batch();
  ready_ = ledger_.now();
}

/// Megatron's main_grad: fp32 tensors that last, into which each 16-bit gradient is added as it arrives.
void Trainer::make_main_gradients() {
  Restore category(memory_.category, Category::gradient);
  for (const Parameter& p : weights_.trainable)
    p.tensor->grad = filled(tape_, p.tensor.shape(), DType::fp32, 0, "main_grad").ref();
}

/// AveragedModel: a deep copy, buffers and all; its updates are made in place.
void Trainer::make_average() {
  Restore category(memory_.category, Category::optimizer_state);
  auto copy = [&](const Tensor& x) {
    if (!x) return;
    average_.push_back(memory_.empty_like(x, x.dtype(), "ema"));
    memory_.backend().unary(Unary::copy, average_.back(), x, 0);
  };
  for (const Parameter& p : weights_.parameters) copy(p.tensor);
  for (const RotaryBuffers* rotary : {&weights_.rotary, &weights_.near_rotary}) {
    copy(rotary->inverse_frequencies);
    copy(rotary->original);
  }
  copy(weights_.embedding_scale);
  copy(weights_.position_ids);
  copy(weights_.type_ids);
  copy(weights_.logits_bias);
}

void Trainer::make_batch() {
  Restore category(memory_.category, Category::input);
  const std::int64_t b = options_.micro_batch, s = options_.seq;
  Backend& backend = memory_.backend();
  if (config_.architecture == Architecture::textbook) {
    batch_.hidden = memory_.empty({b, s, config_.hidden}, parameter_type(options_.precision), "input");
    batch_.hidden->requires_grad = true;
    backend.arange(batch_.hidden, 0);
    backend.unary(Unary::scale, batch_.hidden, batch_.hidden, 0.7);
    backend.unary(Unary::sin, batch_.hidden, batch_.hidden, 0);
    return;
  }
  batch_.embeddings_want_grad = options_.input_grads && options_.checkpoint.kind != CheckpointKind::none &&
                                options_.checkpoint.kind != CheckpointKind::selective;
  batch_.ids = memory_.empty({b, s}, DType::int64, "input_ids");
  make_labels();
  backend.tokens(batch_.ids, config_.vocab, 1);
}

/// A classifier's are one number a sequence, or as many as it has labels, in the parameters' type.
void Trainer::make_labels() {
  const std::int64_t b = options_.micro_batch;
  const LossForm form = options_.loss.form;
  Backend& backend = memory_.backend();
  if (form == LossForm::multi_label || form == LossForm::regression) {
    const bool one = form == LossForm::regression && config_.labels == 1;
    batch_.labels =
        memory_.empty(one ? Dims{b} : Dims{b, config_.labels}, parameter_type(options_.precision), "labels");
    backend.fill(batch_.labels, 1);
    return;
  }
  const bool single = form == LossForm::classification;
  batch_.labels = memory_.empty(single ? Dims{b} : Dims{b, target_length(options_)}, DType::int64, "labels");
  backend.tokens(batch_.labels, single ? config_.labels : config_.vocab, 2);
}

StepMarks::Micro Trainer::forward_backward() {
  StepMarks::Micro marks;
  marks.forward = ledger_.now();
  ledger_.enter(Phase::forward);
  if (buckets_) buckets_->before_forward();
  const auto type = autocast_type(options_.precision);
  if (type) tape_.enter_autocast(type);
  {
    // The old loss, and with it the old graph, lives until the new one is bound.
    ModelOutput made = vramplan::forward(tape_, config_, weights_, batch_, attention_, run_, options_.loss);
    if (!options_.keeps_output) made.logits.reset(), made.rest.clear();
    output_ = std::move(made);
  }
  if (type) tape_.leave_autocast();
  const Tensor loss = scaler_ ? scaler_->scale(output_.loss) : output_.loss;
  marks.backward = ledger_.now();
  tape_.backward(loss);
  return marks;
}

void Trainer::zero_grad() {
  for (const Parameter& p : weights_.trainable) {
    if (!options_.zero_in_place && !options_.fp32_gradients)
      p.tensor->grad.reset();
    else if (p.tensor->grad)
      memory_.backend().fill(Tensor(p.tensor->grad), 0);
  }
}

/// model.eval() and torch.no_grad(): no dropout, no checkpointing, nothing is kept.
void Trainer::evaluate() {
  Restore no_grad(tape_.grad_enabled, false);
  Restore no_dropout(tape_.training, false);
  ledger_.enter(Phase::forward);
  const auto type = autocast_type(options_.precision);
  if (type) tape_.enter_autocast(type);
  vramplan::forward(tape_, config_, weights_, batch_, attention_, layer_runner({}), options_.loss);
  if (type) tape_.leave_autocast();
}

StepMarks Trainer::step() {
  StepMarks marks;
  for (std::int64_t i = 0; i < options_.accumulate; ++i) marks.micro.push_back(forward_backward());
  ledger_.enter(Phase::optimizer);
  marks.clip = ledger_.now();
  if (options_.clip && scaler_) scaler_->unscale();
  if (options_.clip) clip_gradients(tape_, weights_.trainable, *options_.clip, options_.clip_for_loop);
  marks.step = ledger_.now();
  if (scaler_) scaler_->before_step();
  optimizer_.step();
  if (scaler_) scaler_->update();
  marks.zero = ledger_.now();
  zero_grad();
  marks.end = ledger_.now();
  if (options_.evaluate) evaluate();
  marks.after = ledger_.now();
  return marks;
}

}  // namespace vramplan
