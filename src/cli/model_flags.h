// The flags that name a model: a preset, a config.json, or its sizes.
#pragma once
#include "cli/command.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

class ModelFlags {
 public:
  std::vector<Flag> flags();
  /// Sets the job's model, and what was assumed about it. Throws UserError.
  void read(const Context& context, Job& job) const;
  /// A model by its sizes has as many positions as the run asks for; to be called when the sequence is known.
  void settle_positions(Job& job) const;

 private:
  bool by_sizes() const { return !layers_.empty() || !hidden_.empty() || !heads_.empty(); }
  ModelConfig free_model(std::vector<std::string>& assumed) const;
  void refuse_sizes() const;

  std::string model_, config_, layers_, hidden_, heads_, kv_heads_, head_dim_, ffn_, vocab_, norm_, mlp_, position_,
      dropout_;
  bool tied_ = false;
};

}  // namespace vramplan
