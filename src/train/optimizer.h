// Optimizers, with the temporaries that torch.optim 2.15 makes in each of its three forms. States appear in the first
// step, as they do there.
//
//   AdamW, Adam   states m and v in the parameter's type. foreach: one list of sqrt(v), 1x the parameters (L2 weight
//                 decay of Adam makes a list of gradients first, freed before). for-loop: sqrt and quotient of one
//                 parameter at a time. fused: nothing, but a 4-byte step counter a parameter on the device.
//   SGD           momentum buffers when momentum > 0; weight decay makes gradients + decay: all at once or one at a
//   time.
//   amsgrad       a third state of Adam's
//   bitsandbytes  states in fp32 or in 8-bit blocks, nothing else; paged ones are the host's
//   Muon          a momentum buffer in the gradient's type; Newton-Schulz in bf16, one parameter at a time
//   Adafactor     a row and a column for each matrix, the whole square for each vector. foreach: squares' estimates of
//                 all matrices at once, then of all vectors; for-loop: one parameter at a time, the last one's a little
//                 longer. No fused form.
//
// With master weights the update is done on fp32 copies: gradients are cast to fp32 in the foreach and for-loop forms,
// read as they are in the fused one.
#pragma once
#include <vector>

#include "model/weights.h"
#include "tape/kernel_scratch.h"
#include "vramplan/train/options.h"

namespace vramplan {

class OptimizerState {
 public:
  OptimizerState(Tape& t, const Optimizer& options, bool master_weights);

  /// Makes master weights, if any, from the parameters. To be called once, before training.
  void prepare(const std::vector<Parameter>& parameters);
  /// One update from the parameters' .grad.
  void step(const std::vector<Parameter>& parameters);
  /// States, and with on_host weights and gradients too, that are kept in the host's memory.
  Bytes host_bytes() const { return host_bytes_; }

 private:
  struct Slot {
    Tensor master, first, second, counter;  ///< first, second: m, v; momentum; row, column; or the variance of a vector
    Tensor largest;                         ///< amsgrad
    Tensor first_scales, second_scales;     ///< of blockwise states
    bool made = false;
  };
  Tensor target(const Parameter& p, std::size_t i) const;
  Tensor state_like(const Tensor& target, const char* op) const;
  void make_states(const std::vector<Parameter>& parameters);
  void make_momentum(const Parameter& p, std::size_t i);
  void adam(const std::vector<Parameter>& parameters);
  void sgd(const std::vector<Parameter>& parameters);
  void adafactor(const std::vector<Parameter>& parameters);
  void adafactor_group(const std::vector<Parameter>& parameters, bool matrices, std::vector<Tensor>& updates);
  void adafactor_norm(const Tensor& w);
  ReduceScratch column_scratch(const Tensor& w) const;
  ReduceScratch row_mean_scratch(const Tensor& w) const;
  void adafactor_states(const Parameter& p, std::size_t i);
  void apply_adafactor(const Parameter& p, std::size_t i);
  void apply_adam(const Parameter& p, std::size_t i);
  void apply_sgd(const Parameter& p, std::size_t i);
  void muon(const std::vector<Parameter>& parameters);
  Tensor orthogonal(const Tensor& update);
  void bitsandbytes(const std::vector<Parameter>& parameters);
  void make_bitsandbytes_states(const Parameter& p, std::size_t i);
  Tensor bitsandbytes_state(const Tensor& w, bool blockwise, const char* op);
  void apply_bitsandbytes(const Parameter& p, std::size_t i);
  AdamArgs adam_args() const;
  Bytes host_share(const Parameter& p) const;
  void publish(const Parameter& p, std::size_t i);

  Tape& tape_;
  Optimizer options_;
  bool master_;
  std::vector<Slot> slots_;
  std::vector<Tensor> maps_;  ///< bitsandbytes' code books, shared by all parameters
  Bytes host_bytes_;
  std::int64_t steps_ = 0;
};

}  // namespace vramplan
