// The optimizers of one training run: usually one over all parameters; two with Muon; one a parameter when the step is
// taken in backward.
#pragma once
#include <memory>
#include <vector>

#include "train/optimizer.h"

namespace vramplan {

class OptimizerGroups {
 public:
  /// Makes master weights, if any. In backward mode parameters are updated from then on as their gradients arrive.
  OptimizerGroups(Tape& t, const Optimizer& options, bool master_weights, const std::vector<Parameter>& parameters);
  ~OptimizerGroups();
  OptimizerGroups(const OptimizerGroups&) = delete;
  OptimizerGroups& operator=(const OptimizerGroups&) = delete;

  void step();
  Bytes host_bytes() const;

 private:
  struct Group {
    std::vector<Parameter> parameters;
    OptimizerState state;
  };
  void add(const Optimizer& options, bool master_weights, std::vector<Parameter> parameters);
  void step_in_backward(const TensorImpl& leaf);

  Tape& tape_;
  bool in_backward_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace vramplan
