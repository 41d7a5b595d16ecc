#include "tape/tape.h"

#include "tape/elementwise.h"

namespace vramplan {
namespace {

Grads accumulate_grad(Tape& tape, Node& node, Grads& arrived);

/// Whether `grad` may become the leaf's .grad without a copy (accumulate_grad.h, obeys_layout_contract).
bool has_layout_of(const Tensor& grad, const TensorImpl& leaf) {
  for (std::size_t i = 0; i < leaf.shape.size(); ++i)
    if (leaf.shape[i] != 1 && grad.strides()[i] != leaf.strides[i]) return false;
  return true;
}

Grads accumulate_grad(Tape& tape, Node& node, Grads& arrived) {
  TensorImpl& leaf = *node.leaf;
  Tensor grad = std::move(arrived[0]);
  const bool is_parameter = leaf.storage->category == Category::parameter;
  if (leaf.grad) {
    tape.backend().accumulate(Tensor(leaf.grad), grad, 1);
  } else {
    const bool adoptable = grad.ref()->use_count() == 1 && !grad->pinned && has_layout_of(grad, leaf);
    if (!adoptable) {
      Tensor copy = tape.memory().empty(leaf.shape, leaf.dtype, "clone");
      tape.backend().unary(Unary::copy, copy, grad, 0);
      grad = copy;
    }
    leaf.grad = tape.detached(grad).ref();
    if (is_parameter) tape.memory().reclassify(grad, Category::gradient);
  }
  if (tape.after_accumulate) tape.after_accumulate(leaf);
  return {};
}

}  // namespace

// Graphs are long chains: take them apart with a list, not by recursion.
Node::~Node() {
  if (leaf) leaf->accumulator = nullptr;
  std::vector<Ref<Node>> pending;
  auto take = [&](Node& n) {
    for (Edge& e : n.next)
      if (e.node) pending.push_back(std::move(e.node));
  };
  take(*this);
  while (!pending.empty()) {
    Ref<Node> n = std::move(pending.back());
    pending.pop_back();
    if (n->use_count() == 1) take(*n);
  }
}

Edge Tape::edge_to(const Tensor& t) {
  if (!t.requires_grad()) return {};
  if (t->grad_fn) return {Ref<Node>(static_cast<Node*>(t->grad_fn.get())), t->output};
  if (!t->accumulator) {
    Ref<Node> node = make_ref<Node>();
    node->backward = accumulate_grad;
    node->name = "AccumulateGrad";
    node->sequence = UINT64_MAX;
    node->place = memory_.place;
    node->leaf = &t.impl();
    node->keep = t.ref();
    node->expected = {t.shape(), t.dtype()};
    node->outputs = 1;
    t->accumulator = node.get();
    return {node, 0};
  }
  return {Ref<Node>(static_cast<Node*>(t->accumulator)), 0};
}

Ref<Node> Tape::record(const char* name, BackwardFn fn, std::initializer_list<const Tensor*> inputs) {
  if (!grad_enabled) return {};
  bool any = false;
  for (const Tensor* t : inputs) any = any || t->requires_grad();
  if (!any) return {};
  Ref<Node> node = make_ref<Node>();
  node->name = name;
  node->backward = fn;
  node->place = memory_.place;
  node->sequence = sequence_++;
  for (const Tensor* t : inputs) node->next.push_back(edge_to(*t));
  return node;
}

void Tape::save(const Ref<Node>& node, const Tensor& t) {
  if (!node) return;
  if (!hooks_.empty()) {
    node->keep_for_backward(hooks_.back()->pack(*this, t));
    return;
  }
  if (t && t->storage->category == Category::temporary)
    memory_.reclassify(t, recomputing ? Category::recomputed_activation : Category::activation);
  node->keep_for_backward(Saved(t));
}

void Tape::save_result(const Ref<Node>& node, const Tensor& t) {
  if (node) save(node, detached(t));
}

Tensor Tape::detached(const Tensor& t) const {
  return Tensor(make_ref<TensorImpl>(t->storage, t.shape(), t.strides(), t->offset, t.dtype()));
}

Tensor Tape::output(const Ref<Node>& node, Tensor y) {
  if (!node) return y;
  y->requires_grad = true;
  y->leaf = false;
  y->grad_fn = node;
  y->output = node->outputs++;
  node->expected = {y.shape(), y.dtype()};
  return y;
}

Tensor Tape::view_of(const Tensor& base, const Dims& shape, const Dims& strides, std::int64_t offset,
                     DType dtype) const {
  Tensor v(make_ref<TensorImpl>(base->storage, shape, strides, offset, dtype));
  v->base = base->base ? base->base : base.ref();
  return v;
}

void Tape::enter_autocast(std::optional<DType> dtype) {
  outer_autocast_.push_back(autocast_);
  autocast_ = dtype;
}

void Tape::leave_autocast() {
  autocast_ = outer_autocast_.back();
  outer_autocast_.pop_back();
  if (!outer_autocast_.empty()) return;
  cast_of_.clear();
  casts_.clear();
}

Tensor Tape::lower_precision(const Tensor& x) {
  if (!autocast_ || !x || !facts(x.dtype()).floating || x.dtype() == *autocast_) return x;
  const bool cached = x.dtype() == DType::fp32 && x.requires_grad() && x->leaf && !x->base;
  if (!cached) return cast(*this, x, *autocast_);
  const auto [found, fresh] = cast_of_.try_emplace(&x.impl(), casts_.size());
  if (fresh) casts_.push_back(cast(*this, x, *autocast_));
  return casts_[found->second];
}

Tensor Tape::full_precision(const Tensor& x) { return autocast_ && x ? cast(*this, x, DType::fp32) : x; }

}  // namespace vramplan
