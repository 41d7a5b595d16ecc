// The flags that say how a model is trained.
#pragma once
#include "cli/command.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

class RunFlags {
 public:
  std::vector<Flag> flags();
  /// Sets the job's run, and what was assumed about it. The model must be there. Throws UserError.
  void read(Job& job) const;

 private:
  bool offloads(std::string_view what) const;
  std::int64_t target_length_given() const;
  Optimizer optimizer(Precision precision) const;
  Checkpointing checkpoint(const ModelConfig& model) const;
  Lora lora(const ModelConfig& model) const;
  std::optional<PromptTuning> prompt() const;
  Quantisation quantisation() const;
  /// A classifier's labels are the model's.
  void read_loss(Job& job) const;
  void read_kept(TrainOptions& r) const;
  void read_clip(TrainOptions& r) const;
  void assume(Job& job) const;

  std::string micro_batch_, seq_, target_seq_, accumulate_, precision_, optimizer_, form_, momentum_, weight_decay_,
      clip_, attention_, score_copies_, dropout_mask_, checkpoint_, segments_, lora_, prompt_, prefix_, quant_, fp8_,
      ddp_, loss_, offload_, freeze_;
  bool reentrant_ = false, keeps_output_ = false, amsgrad_ = false, in_backward_ = false, fp32_embeddings_ = false,
       grad_scaler_ = false, ema_ = false, zero_in_place_ = false, fp32_gradients_ = false, use_cache_ = false,
       evaluate_ = false, no_input_grads_ = false;
};

}  // namespace vramplan
