#include "tape/embedding.h"

#include "tape/view.h"

namespace vramplan {
namespace {

Grads embedding_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor ids = n.get(t, 0);
  Tensor dw = t.memory().empty(n.dims, dy[0].dtype(), "embedding_dense_backward");
  t.backend().embedding_backward(dw, dy[0], ids);
  return {dw};
}

}  // namespace

Tensor embedding(Tape& t, const Tensor& weight, const Tensor& ids) {
  auto node = t.record("EmbeddingBackward0", embedding_backward, {&weight});
  if (node) node->dims = weight.shape();
  t.save(node, ids);
  const Tensor rows = t.memory().empty({ids.numel(), weight.size(1)}, weight.dtype(), "index_select");
  t.backend().embedding(rows, weight, ids);
  Dims shape = ids.shape();
  shape.push_back(weight.size(1));
  // The kernel returns a plain tensor: seen from outside it is no view of anything.
  return t.output(node, Tensor(make_ref<TensorImpl>(rows->storage, shape, contiguous_strides(shape), 0, rows.dtype())));
}

}  // namespace vramplan
