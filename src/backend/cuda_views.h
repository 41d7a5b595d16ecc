// Tensors as the kernels see them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/kernels/view.h"
#include "tensor/backend.h"

namespace vramplan::cuda {

using kernels::View;

static_assert(kernels::kFp32 == static_cast<int>(DType::fp32) && kernels::kTf32 == static_cast<int>(DType::tf32) &&
              kernels::kFp16 == static_cast<int>(DType::fp16) && kernels::kBf16 == static_cast<int>(DType::bf16) &&
              kernels::kInt8 == static_cast<int>(DType::int8) && kernels::kInt64 == static_cast<int>(DType::int64) &&
              kernels::kBoolean == static_cast<int>(DType::boolean));

inline char* first_of(const Tensor& t) {
  return reinterpret_cast<char*>(t->storage->data) + t->offset * item_size(t.dtype());
}

/// Dimensions `shape` with `strides`, neighbours joined where one stride describes both.
inline View joined(const Tensor& t, const Dims& shape, const Dims& strides) {
  View v{};
  v.data = first_of(t);
  v.type = static_cast<int>(t.dtype());
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    elements *= shape[d];
    if (shape[d] == 1) continue;
    if (v.rank > 0 && v.stride[v.rank - 1] == strides[d] * shape[d]) {
      v.size[v.rank - 1] *= shape[d];
      v.stride[v.rank - 1] = strides[d];
    } else {
      v.size[v.rank] = shape[d];
      v.stride[v.rank++] = strides[d];
    }
  }
  v.narrow = elements <= std::numeric_limits<std::int32_t>::max();
  return v;
}

/// The tensor broadcast to `shape`.
inline View view(const Tensor& t, const Dims& shape) {
  return joined(t, shape, expanded_strides(t.shape(), t.strides(), shape));
}
inline View view(const Tensor& t) { return joined(t, t.shape(), t.strides()); }
inline View view_or_nothing(const Tensor& t) { return t ? view(t) : View{}; }

/// Of two dimensions, or three with a batch in front.
inline kernels::Matrix matrix(const Tensor& t) {
  return {first_of(t), static_cast<int>(t.dtype()), t.rank() == 3 ? t.strides().at(0) : 0, t.strides().at(-2),
          t.strides().at(-1)};
}

/// A tensor of four dimensions, or nothing.
inline kernels::Heads heads(const Tensor& t) {
  if (!t) return {};
  return {first_of(t), static_cast<int>(t.dtype()), t.strides()[0], t.strides()[1], t.strides()[2], t.strides()[3]};
}
inline kernels::Heads heads(const Tensor& t, const Dims& shape) {
  if (!t) return {};
  const Dims s = expanded_strides(t.shape(), t.strides(), shape);
  return {first_of(t), static_cast<int>(t.dtype()), s[0], s[1], s[2], s[3]};
}

inline const long long* numbers(const Tensor& ids) { return reinterpret_cast<const long long*>(first_of(ids)); }

/// A uniform number of 53 bits is at least `p` exactly when its bits are at least this.
inline kernels::Draw draw(RandomKey key, double p) {
  return {key.seed, key.call, static_cast<unsigned long long>(std::ceil(p * 0x1p53))};
}

/// Blocks of the first stage of a sum over n elements.
inline unsigned partials_of(std::int64_t n) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((n + 255) / 256, 1, kernels::kPartials));
}

inline std::int64_t width_of(const Tensor& t) { return t.size(-1); }
inline std::int64_t rows_of(const Tensor& t) { return width_of(t) ? t.numel() / width_of(t) : 0; }

}  // namespace vramplan::cuda
