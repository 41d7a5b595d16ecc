#include "tape/embedding.h"

#include <algorithm>

#include "tape/kernel_scratch.h"
#include "tape/view.h"

namespace vramplan {
namespace {

constexpr std::int64_t kFewTokens = 3072;  // up to here one kernel without memory of its own (native/cuda/Embedding.cu)

/// Whether the parts of a row are added into it as they come, and not summed one by one first. Found by trying widths 8
/// to 4096 and 3,073 to 60,000 tokens on sm_80 and sm_90; between 768 and 4096 the rows may be some more than here.
bool adds_parts_at_once(const Device& d, std::int64_t tokens, std::int64_t vocabulary, std::int64_t width) {
  const bool narrow = width <= 768;
  return tokens / vocabulary >= (narrow ? 30 : 150) && vocabulary < (narrow ? 4 : 1) * d.multiprocessors;
}

/// native/cuda/Embedding.cu and EmbeddingBackwardKernel.cu: tokens are sorted, cut where they change and every ten, and
/// each part is summed in fp32.
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
  const bool at_once = adds_parts_at_once(t.device, tokens, vocabulary, width);
  const Scratch sums(m, at_once ? numbers(parts) : storage_bytes(DType::fp32, checked_multiply(parts, width)),
                     "embedding sums of parts");
  const Scratch wide(m, at_once && item_size(dy.dtype()) < 4 ? storage_bytes(DType::fp32, vocabulary * width) : Bytes(),
                     "embedding sums");
  t.backend().embedding_backward(dw, dy, ids);
  return dw;
}

Grads embedding_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor ids = n.get(t, 0);
  const std::int64_t tokens = ids.numel();
  const Scratch copied(t.memory(),
                       is_contiguous(ids.shape(), ids.strides()) ? Bytes() : storage_bytes(DType::int64, tokens),
                       "embedding numbers");
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
  Tensor rows;
  {  // index_select takes one row of numbers: those that are repeated for each sample are copied for it
    const Tensor flat = contiguous(t, ids);
    rows = t.memory().empty({ids.numel(), weight.size(1)}, weight.dtype(), "index_select");
    t.backend().embedding(rows, weight, flat);
  }
  Dims shape = ids.shape();
  shape.push_back(weight.size(1));
  // The kernel returns a plain tensor: seen from outside it is no view of anything.
  return t.output(node, Tensor(make_ref<TensorImpl>(rows->storage, shape, contiguous_strides(shape), 0, rows.dtype())));
}

}  // namespace vramplan
