// The flags that describe a job, shared by the commands that take one.
#pragma once
#include "cli/command.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

class JobFlags {
 public:
  std::vector<Flag> flags();
  /// Throws UserError.
  Job job(const Context& context) const;

 private:
  /// The model is described by flags and has as many positions as the run asks for.
  bool by_sizes() const { return !layers_.empty() || !hidden_.empty() || !heads_.empty(); }
  ModelConfig free_model(std::vector<std::string>& assumed) const;
  void read_model(const Context& context, Job& job) const;
  void read_run(Job& job) const;
  void read_kept(TrainOptions& r) const;
  Lora lora() const;
  void read_card(const Context& context, Job& job) const;
  Checkpointing checkpoint(const ModelConfig& model) const;

  std::string model_, config_, layers_, hidden_, heads_, kv_heads_, head_dim_, ffn_, vocab_, norm_, mlp_, position_,
      dropout_;
  bool tied_ = false;
  std::string gpu_, gpu_memory_, allocator_, reserve_;
  std::string micro_batch_, seq_, accumulate_, precision_, optimizer_, form_, momentum_, weight_decay_, clip_,
      attention_, score_copies_, dropout_mask_, checkpoint_, segments_;
  std::string lora_;
  bool reentrant_ = false, keeps_output_ = false;
};

}  // namespace vramplan
