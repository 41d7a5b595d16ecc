// One step of the backward pass: a function, the tensors it keeps from forward, and where its results go. What
// PyTorch generates as SiluBackward0, MmBackward0 ... is here one type with a function pointer and room for the
// few attributes that any of them needs.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tensor/memory.h"

namespace vramplan {

class Tape;
struct Node;
struct QuantisedWeight;

/// What a segment takes beside the hidden state; each may be null.
struct Arguments {
  Tensor mask;      ///< wants no gradient
  Tensor states;    ///< an encoder's last hidden state, which gets a gradient from every layer that looks at it
  Tensor cos, sin;  ///< of rotary embeddings; they want no gradient
};
/// A part of a model as a function of the hidden state. What it captures is kept with it; its arguments are kept only
/// until its backward has run.
using Segment = std::function<Tensor(const Tensor& x, const Arguments& given)>;

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

/// What attention and checkpoints need besides.
struct Rare {
  InlineVector<Saved, 4> saved;
  AttentionArgs attention;
  Segment segment;                      ///< of a reentrant checkpoint
  std::vector<Ref<TensorImpl>> leaves;  ///< and the leaves that got gradients, parameters aside
  Ref<TensorImpl> attribute;            ///< kept by a function written in Python: it goes with the graph, not before
  std::vector<Segment> segments;        ///< of the first node of a backward pass: those of all nodes it has run
  std::uint64_t random_call = 0;
  std::optional<DType> autocast;
  std::vector<Tensor> parts;                   ///< gradients of a split's outputs, more than a node has room for
  const QuantisedWeight* quantised = nullptr;  ///< the model's, which outlives the graph
};

struct Node final : GradFn, Pooled<Node> {
  ~Node() override;

  BackwardFn backward = nullptr;
  const char* name = "";
  Place place;
  std::uint64_t sequence = 0;  ///< later nodes run first
  InlineVector<Edge, 4> next;
  Expected expected;  ///< of a gradient of any output: outputs of one operation are alike
  InlineVector<Saved, 4> saved;

  // Attributes, as the operation's backward reads them.
  double number = 0;
  std::int64_t first = 0, second = 0;
  Dims dims;
  DType dtype = DType::fp32;
  TensorImpl* leaf = nullptr;  ///< AccumulateGrad: whose gradient
  Ref<TensorImpl> keep;        ///< and what keeps that leaf alive
  std::unique_ptr<Rare> rare;  ///< what only few operations need

  // The engine's.
  std::uint32_t outputs = 0, dependencies = 0, task = 0;
  InlineVector<Tensor, 3> arrived;

  bool wants(std::size_t i) const { return i < next.size() && static_cast<bool>(next[i].node); }
  Tensor get(Tape& tape, std::size_t i) const {
    return i < 4 ? saved[i].unpack(tape) : rare->saved[i - 4].unpack(tape);
  }
  void keep_for_backward(Saved s) {
    if (saved.size() < 4)
      saved.push_back(std::move(s));
    else
      more().saved.push_back(std::move(s));
  }
  void drop_saved() {
    saved.clear();
    if (rare) rare->saved.clear();
  }
  Rare& more() {
    if (!rare) rare = std::make_unique<Rare>();
    return *rare;
  }
};

}  // namespace vramplan
