// One step of the backward pass: a function, the tensors it keeps from forward, and where its results go. What
// PyTorch generates as SiluBackward0, MmBackward0 ... is here one type with a function pointer and room for the
// few attributes that any of them needs.
#pragma once
#include <functional>

#include "tensor/memory.h"

namespace vramplan {

class Tape;
struct Node;

using Grads = InlineVector<Tensor, 4>;
/// Gradients of the outputs in, gradients of the inputs out (null where nobody wants one).
using BackwardFn = Grads (*)(Tape&, Node&, Grads&);

/// What a hook made of a saved tensor; gives it back when backward asks.
struct Packed : Counted {
  virtual ~Packed() = default;
  virtual Tensor unpack(Tape& tape) = 0;
};

/// A tensor kept for backward, by reference: a tensor saved by three nodes is one storage.
class Saved {
 public:
  Saved() = default;
  explicit Saved(Tensor t) : tensor_(std::move(t)) {}
  explicit Saved(Ref<Packed> p) : packed_(std::move(p)) {}
  Tensor unpack(Tape& tape) const { return packed_ ? packed_->unpack(tape) : tensor_; }

 private:
  Tensor tensor_;
  Ref<Packed> packed_;
};

struct Edge {
  Ref<Node> node;  ///< null: this input wants no gradient
  std::uint32_t input = 0;
};

/// Shape and type that a gradient arriving at this node must have; others are summed or cast on the way.
struct Expected {
  Dims shape;
  DType dtype = DType::fp32;
};

struct Node final : GradFn {
  ~Node() override;

  BackwardFn backward = nullptr;
  const char* name = "";
  Place place;
  std::uint64_t sequence = 0;  ///< later nodes run first
  InlineVector<Edge, 4> next;
  InlineVector<Expected, 3> expected;  ///< one per output of the forward operation
  InlineVector<Saved, 8> saved;

  // Attributes, as the operation's backward reads them.
  double number = 0;
  std::int64_t first = 0, second = 0;
  Dims dims, more_dims;
  DType dtype = DType::fp32;
  AttentionArgs attention;
  TensorImpl* leaf = nullptr;            ///< AccumulateGrad: whose gradient
  Ref<TensorImpl> keep;                  ///< and what keeps that leaf alive
  std::function<Tensor(const Tensor&, const Tensor&)> segment;  ///< reentrant checkpoint: lives as long as the graph does
  std::uint64_t random_call = 0;
  std::optional<DType> autocast;

  // The engine's.
  InlineVector<Tensor, 3> arrived;
  std::uint32_t dependencies = 0, task = 0;

  bool wants(std::size_t i) const { return i < next.size() && static_cast<bool>(next[i].node); }
  Tensor get(Tape& tape, std::size_t i) const { return saved[i].unpack(tape); }
};

}  // namespace vramplan
