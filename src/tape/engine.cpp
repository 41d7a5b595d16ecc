// Tape::backward: nodes run latest first as their last gradient arrives (torch/csrc/autograd/engine.cpp).
#include <algorithm>
#include <stdexcept>

#include "tape/elementwise.h"
#include "tape/tape.h"

namespace vramplan {
namespace {

bool runs_later(const Ref<Node>& a, const Ref<Node>& b) { return a->sequence < b->sequence; }

/// input_buffer.cpp, can_accumulate_inplace: nobody else holds the tensor or its storage, and it has no gaps.
bool can_add_into(const Tensor& t) {
  return t.ref()->use_count() == 1 && t->storage->use_count() == 1 && !t->pinned && is_dense(t.shape(), t.strides());
}

}  // namespace

void Tape::backward(const Tensor& root, Tensor gradient) {
  if (!root.requires_grad()) throw std::logic_error("backward from a tensor that wants no gradient");
  Restore no_grad(grad_enabled, false);
  Restore plain(recomputing, false);
  Restore category(memory_.category, Category::activation_gradient);
  InPhase phase(memory_, Phase::backward);
  At here(*this, memory_.place.module);
  // The caller's gradient stays alive until the pass ends, as grad_tensors does in torch/autograd/__init__.py; it goes
  // in this phase, not in the caller's.
  if (!gradient) gradient = filled(*this, root.shape(), root.dtype(), 1, "ones_like");
  run(root, gradient);
  gradient.reset();
}

void Tape::run(const Tensor& root, Tensor gradient) {
  Edge start = edge_to(root);
  const std::uint32_t task = ++task_;
  std::vector<Node*> open{start.node.get()};
  start.node->task = task;
  while (!open.empty()) {
    Node* n = open.back();
    open.pop_back();
    for (Edge& e : n->next) {
      if (!e.node) continue;
      if (e.node->task != task) {
        e.node->task = task;
        e.node->dependencies = 0;
        open.push_back(e.node.get());
      }
      ++e.node->dependencies;
    }
  }
  start.node->arrived.resize(start.node->outputs);
  start.node->arrived[start.input] = std::move(gradient);
  std::vector<Ref<Node>> ready{start.node};
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), runs_later);
    Ref<Node> node = std::move(ready.back());
    ready.pop_back();
    evaluate(node, ready);
    // The graph would live as long as its root; only what segments capture can be seen to. The rest goes now.
    if (node->rare && node->rare->segment) start.node->more().segments.push_back(std::move(node->rare->segment));
    if (node->leaf && node->leaf->storage->category != Category::parameter)
      start.node->more().leaves.push_back(node->keep);
    if (node->rare && node->rare->attribute) start.node->more().leaves.push_back(std::move(node->rare->attribute));
    node->next.clear();
  }
}

// One node: its results are made while its gradients and saved tensors are alive; then the gradients go, then
// the saved tensors, and only then are results added to what has arrived elsewhere.
void Tape::evaluate(const Ref<Node>& node, std::vector<Ref<Node>>& ready) {
  memory_.place = node->place;
  const std::uint32_t task = node->task;
  Grads results;
  {
    Grads arrived;
    for (Tensor& t : node->arrived) arrived.push_back(std::move(t));
    node->arrived.clear();
    results = node->backward(*this, *node, arrived);
    validate(results, *node);
  }
  node->drop_saved();
  for (std::size_t i = 0; i < node->next.size(); ++i) {
    Edge& e = node->next[i];
    if (!e.node) continue;
    Node& next = *e.node;
    if (i < results.size() && results[i]) {
      next.arrived.resize(next.outputs);
      arrive(next.arrived[e.input], std::move(results[i]));
    }
    next.task = task;
    if (--next.dependencies == 0) {
      ready.push_back(e.node);
      std::push_heap(ready.begin(), ready.end(), runs_later);
    }
  }
}

// engine.cpp, validate_outputs: gradients of broadcast inputs are summed, others cast, between the nodes.
void Tape::validate(Grads& grads, const Node& node) {
  for (std::size_t i = 0; i < node.next.size() && i < grads.size(); ++i) {
    if (!node.next[i].node) grads[i].reset();
    if (!grads[i]) continue;
    const Expected& e = node.next[i].node->expected;
    if (!(grads[i].shape() == e.shape)) grads[i] = sum_to(*this, grads[i], e.shape);
    if (grads[i].dtype() != e.dtype) grads[i] = cast(*this, grads[i], e.dtype);
  }
}

void Tape::arrive(Tensor& slot, Tensor gradient) {
  if (!slot) {
    slot = std::move(gradient);
  } else if (can_add_into(slot)) {
    backend().accumulate(slot, gradient, 1);
  } else {
    slot = add(*this, slot, gradient);
  }
}

}  // namespace vramplan
