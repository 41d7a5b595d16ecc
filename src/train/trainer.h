// A training loop as plain PyTorch writes it: forward, backward (for each micro-batch), clip, step, zero_grad. It notes
// the instants between them in the ledger. Two steps show everything: optimizer states appear in the first.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "model/adapters.h"
#include "model/forward.h"
#include "train/grad_scaler.h"
#include "train/gradient_buckets.h"
#include "train/optimizer_groups.h"
#include "vramplan/train/options.h"

namespace vramplan {

/// Instants of one step, as numbers of ledger events.
struct StepMarks {
  struct Micro {
    Ledger::Instant forward = 0, backward = 0;
  };
  std::vector<Micro> micro;
  Ledger::Instant clip = 0, step = 0, zero = 0, end = 0;
  Ledger::Instant after = 0;  ///< and after an evaluation, if there is one
};

class Trainer {
 public:
  /// Makes parameters, batch and master weights. `c` and the backend must outlive the trainer.
  Trainer(Backend& backend, const ModelConfig& c, const TrainOptions& options);

  StepMarks step();

  const Ledger& ledger() const { return ledger_; }
  const Weights& weights() const { return weights_; }
  Tape& tape() { return tape_; }
  const Tape& tape() const { return tape_; }
  const Tensor& loss() const { return output_.loss; }
  const Batch& batch() const { return batch_; }
  /// Of optimizer states and offloaded boundaries, in the host's memory.
  Bytes host_bytes() const {
    return optimizer_.host_bytes() + tape_.host_ledger().peak(0, tape_.host_ledger().now()).tally.requested;
  }
  Ledger::Instant ready() const { return ready_; }  ///< before the first step

  /// One forward and backward; gradients are left on the parameters. Part of step().
  StepMarks::Micro forward_backward();
  void zero_grad();

 private:
  void make_batch();
  void make_labels();
  void make_average();
  void make_main_gradients();
  void evaluate();

  const ModelConfig& config_;
  TrainOptions options_;
  Ledger ledger_;
  Memory memory_;
  Tape tape_;
  Weights weights_;
  std::optional<GradientBuckets> buckets_;
  OptimizerGroups optimizer_;
  std::optional<GradScaler> scaler_;
  std::vector<Tensor> average_;  ///< the averaged copy of the model
  Batch batch_;
  AttentionChoice attention_;
  RunStack run_;
  ModelOutput output_;
  Ledger::Instant ready_ = 0;
};

/// The adapters that options ask for, as the model floor wants them.
Adapters adapters_of(const ModelConfig& c, const TrainOptions& options);
/// Elements that are trained beside a frozen model; 0 where the model itself is. Throws UserError when an adapter has
/// no module.
std::int64_t adapter_count(const ModelConfig& c, const TrainOptions& options);

/// Elements of all that is trained.
std::int64_t trainable_count(const ModelConfig& c, const TrainOptions& options);

/// What the SDPA call of a model is told.
AttentionChoice attention_choice(const TrainOptions& options);

}  // namespace vramplan
