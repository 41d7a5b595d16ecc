// The autograd tape: records operations, replays them in reverse, and releases what they kept exactly when
// PyTorch does. Semantics follow torch/csrc/autograd/engine.cpp, input_buffer.cpp and saved_variable.cpp of 2.15.
//
// A forward function is written as the reference implementation writes it, one statement per temporary, so that
// C++ locals live as long as the Python locals they mirror:
//
//     Tensor gate = linear(tape, x, w.gate);
//     Tensor act = silu(tape, gate);
#pragma once
#include <functional>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "tape/node.h"
#include "tape/sdpa_choice.h"
#include "vramplan/tensor/device.h"

namespace vramplan {

/// torch.autograd.graph.saved_tensors_hooks: decides what is kept in place of a tensor.
class SaveHook {
 public:
  virtual ~SaveHook() = default;
  virtual Saved pack(Tape& tape, const Tensor& t) = 0;
};

class Tape {
 public:
  explicit Tape(Memory& memory) : memory_(memory), host_memory_(memory.backend(), host_ledger_) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Memory& memory() const { return memory_; }
  /// What is offloaded waits here, booked in a ledger of its own.
  Memory& host_memory() { return host_memory_; }
  const Ledger& host_ledger() const { return host_ledger_; }
  Backend& backend() const { return memory_.backend(); }

  // ---- recording, used by operations ----

  /// A node for an operation over `inputs`, or null when gradients are off or none of them wants one.
  Ref<Node> record(const char* name, BackwardFn fn, std::initializer_list<const Tensor*> inputs);
  /// Keep `t` for the backward of `node`, if there is one. Inputs are saved before the operation allocates its
  /// result, results after: the order matters where checkpointing stops early.
  void save(const Ref<Node>& node, const Tensor& t);
  /// The same for a result of the operation: kept without its node, which would otherwise keep itself alive.
  void save_result(const Ref<Node>& node, const Tensor& t);
  /// Make `y` the next output of `node` (which may be null) and return it.
  Tensor output(const Ref<Node>& node, Tensor y);
  /// Another look at the storage of `base`, keeping it alive as PyTorch's views do.
  Tensor view_of(const Tensor& base, const Dims& shape, const Dims& strides, std::int64_t offset, DType dtype) const;

  /// The same storage without history (torch.Tensor.detach).
  Tensor detached(const Tensor& t) const;

  // ---- the backward pass ----

  /// Run backward from `root`; `gradient` null means ones.
  void backward(const Tensor& root, Tensor gradient = {});

  // ---- modes ----

  /// register_post_accumulate_grad_hook of every leaf: told when a leaf's gradient is complete.
  std::function<void(TensorImpl& leaf)> after_accumulate;
  Device device;                         ///< the card that kernels are chosen and size their own memory for
  std::vector<SdpaChoice> sdpa_choices;  ///< what attention has taken so far, each once
  bool grad_enabled = true;
  bool training = true;  ///< else dropout drops nothing (torch.nn.Module.eval)
  bool recomputing = false;
  std::uint64_t seed = 0;          ///< of all random numbers
  std::uint64_t random_calls = 0;  ///< draws so far: restored by checkpoint() so that recompute draws the same

  RandomKey next_random() { return {seed, random_calls++}; }
  void push(SaveHook& hook) { hooks_.push_back(&hook); }
  void pop_hook() { hooks_.pop_back(); }

  // ---- autocast (ATen/autocast_mode.cpp) ----

  std::optional<DType> autocast() const { return autocast_; }
  /// Casts of fp32 weights are made once and kept until the outermost region ends.
  void enter_autocast(std::optional<DType> dtype);
  void leave_autocast();
  /// `x` in the region's lower precision; `x` itself outside a region or when it is not of a type autocast changes.
  Tensor lower_precision(const Tensor& x);
  /// `x` in fp32 inside a region, for operations that autocast runs in full precision.
  Tensor full_precision(const Tensor& x);

 private:
  friend struct Node;
  Edge edge_to(const Tensor& t);
  void run(const Tensor& root, Tensor gradient);
  void evaluate(const Ref<Node>& node, std::vector<Ref<Node>>& ready);
  void validate(Grads& grads, const Node& node);
  void arrive(Tensor& slot, Tensor gradient);

  Memory& memory_;
  Ledger host_ledger_;
  Memory host_memory_;
  std::uint64_t sequence_ = 0;
  std::uint32_t task_ = 0;
  std::vector<SaveHook*> hooks_;
  std::optional<DType> autocast_;
  std::vector<std::optional<DType>> outer_autocast_;
  std::vector<Tensor> casts_;  ///< in the order they were made, so that they are released in one order too
  std::unordered_map<const TensorImpl*, std::size_t> cast_of_;
};

/// Sets the place of new tensors while it lives.
class At {
 public:
  At(Tape& tape, const char* module) : memory_(tape.memory()), before_(memory_.place) { memory_.place.module = module; }
  At(Tape& tape, const char* module, int layer) : At(tape, module) { memory_.place.layer = layer; }
  ~At() { memory_.place = before_; }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  Memory& memory_;
  Place before_;
};

/// Restores a value when it goes.
template <class T>
class Restore {
 public:
  Restore(T& slot, T now) : slot_(slot), before_(std::exchange(slot, std::move(now))) {}
  ~Restore() { slot_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& slot_;
  T before_;
};

/// Leaves the autocast region while it lives, as PyTorch does inside an operation that autocast has dispatched.
class Outside {
 public:
  explicit Outside(Tape& tape) : tape_(tape) { tape_.enter_autocast(std::nullopt); }
  ~Outside() { tape_.leave_autocast(); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  Tape& tape_;
};

/// Enters a phase of the ledger while it lives.
class InPhase {
 public:
  InPhase(Memory& m, Phase p) : ledger_(m.ledger()), before_(ledger_.phase()) { ledger_.enter(p); }
  ~InPhase() { ledger_.enter(before_); }
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

 private:
  Ledger& ledger_;
  Phase before_;
};

}  // namespace vramplan
