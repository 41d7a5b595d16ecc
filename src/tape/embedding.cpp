#include "tape/embedding.h"

#include <algorithm>

#include "tape/kernel_scratch.h"

namespace vramplan {
namespace {

constexpr std::int64_t kFewTokens = 3072;  // up to here one kernel without memory of its own (native/cuda/Embedding.cu)

/// native/cuda/Embedding.cu and EmbeddingBackwardKernel.cu: tokens are sorted, cut where they change and every ten, and
/// each part is summed in fp32. Tiny vocabularies take another way, which needs less.
Tensor sorted_backward(Tape& t, const Node& n, const Tensor& dy, const Tensor& ids) {
  Memory& m = t.memory();
  const std::int64_t tokens = ids.numel(), vocabulary = n.dims.at(0), width = n.dims.at(1);
  constexpr std::int64_t kRowsOfPart = 10;
  const std::int64_t segments = std::min(tokens, vocabulary), parts = tokens / kRowsOfPart + segments;
  auto numbers = [](std::int64_t count) { return storage_bytes(DType::int64, count); };
  const Scratch sorted(m, numbers(tokens), "embedding sorted"), origin(m, numbers(tokens), "embedding sorted");
  {
    const Scratch range(m, numbers(tokens), "embedding range");
    const Scratch sort(m, radix_sort_scratch(t.device, tokens, vocabulary), "embedding sort");
  }
  Tensor dw = m.empty(n.dims, dy.dtype(), "embedding_dense_backward");
  const Scratch starts(m, numbers(tokens), "embedding segments"), found(m, numbers(1), "embedding segments");
  {
    const Scratch range(m, numbers(tokens), "embedding range");
    const Scratch scan(m, scan_scratch(tokens, 1280), "embedding scan");
  }
  const Scratch sizes(m, numbers(segments), "embedding parts"), offsets(m, numbers(segments), "embedding parts");
  { const Scratch scan(m, scan_scratch(segments, 960), "embedding scan"); }
  const Scratch counted(m, numbers(1), "embedding parts"), part_offsets(m, numbers(parts), "embedding parts");
  const Scratch sums(m, storage_bytes(DType::fp32, checked_multiply(parts, width)), "embedding sums of parts");
  t.backend().embedding_backward(dw, dy, ids);
  return dw;
}

Grads embedding_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor ids = n.get(t, 0);
  const std::int64_t tokens = ids.numel();
  if (tokens > kFewTokens) return {sorted_backward(t, n, dy[0], ids)};
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
