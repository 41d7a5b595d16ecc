// Numbers in storage: loads and stores of the types the host computes with, and walks over strided tensors.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "backend/half.h"
#include "tensor/backend.h"

namespace vramplan::host {

inline float load(const std::byte* base, DType t, std::int64_t i) {
  switch (t) {
    case DType::fp32:
    case DType::tf32: return reinterpret_cast<const float*>(base)[i];
    case DType::bf16: return from_bf16(reinterpret_cast<const std::uint16_t*>(base)[i]);
    case DType::fp16: return from_fp16(reinterpret_cast<const std::uint16_t*>(base)[i]);
    case DType::int64: return static_cast<float>(reinterpret_cast<const std::int64_t*>(base)[i]);
    case DType::boolean: return static_cast<float>(reinterpret_cast<const std::uint8_t*>(base)[i]);
    case DType::int8: return static_cast<float>(reinterpret_cast<const std::int8_t*>(base)[i]);
    default: throw std::logic_error("the host does not compute in " + std::string(name_of(t)));
  }
}
inline void store(std::byte* base, DType t, std::int64_t i, float x) {
  switch (t) {
    case DType::fp32:
    case DType::tf32: reinterpret_cast<float*>(base)[i] = x; return;
    case DType::bf16: reinterpret_cast<std::uint16_t*>(base)[i] = to_bf16(x); return;
    case DType::fp16: reinterpret_cast<std::uint16_t*>(base)[i] = to_fp16(x); return;
    case DType::int64: reinterpret_cast<std::int64_t*>(base)[i] = static_cast<std::int64_t>(x); return;
    case DType::boolean: reinterpret_cast<std::uint8_t*>(base)[i] = x != 0; return;
    case DType::int8:  // the low byte: a counter makes every code
      reinterpret_cast<std::uint8_t*>(base)[i] = static_cast<std::uint8_t>(static_cast<std::int64_t>(x) & 255);
      return;
    default: throw std::logic_error("the host does not compute in " + std::string(name_of(t)));
  }
}

/// A tensor seen at a (larger) shape; `i` counts its elements in row-major order of that shape.
class Look {
 public:
  Look(const Tensor& t, const Dims& shape)
      : base_(t->storage->data),
        type_(t.dtype()),
        offset_(t->offset),
        strides_(expanded_strides(t.shape(), t.strides(), shape)),
        shape_(shape),
        plain_(is_contiguous(shape, strides_)) {}
  float operator[](std::int64_t i) const { return load(base_, type_, place(i)); }
  void set(std::int64_t i, float x) const { store(base_, type_, place(i), x); }

 private:
  std::int64_t place(std::int64_t i) const {
    if (plain_) return offset_ + i;
    std::int64_t p = offset_;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      p += i % shape_[d] * strides_[d];
      i /= shape_[d];
    }
    return p;
  }
  std::byte* base_;
  DType type_;
  std::int64_t offset_;
  Dims strides_, shape_;
  bool plain_;
};

inline Look look(const Tensor& t) { return Look(t, t.shape()); }

/// All elements as fp32, row-major. Scratch of a kernel, not a tensor.
inline std::vector<float> packed(const Tensor& t) {
  const std::int64_t n = t.numel();
  std::vector<float> out(static_cast<std::size_t>(n));
  const Look x = look(t);
  for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = x[i];
  return out;
}
inline void unpack(const std::vector<float>& from, const Tensor& t) {
  const Look y = look(t);
  for (std::size_t i = 0; i < from.size(); ++i) y.set(static_cast<std::int64_t>(i), from[i]);
}

inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// A uniform number in [0, 1) for element i of a draw: a counter through a mixing function, so any element can be drawn
/// again alone (splitmix64, Steele et al. 2014).
inline double uniform(RandomKey key, std::uint64_t i) {
  return static_cast<double>(mix(mix(mix(key.seed) + key.call) + i) >> 11) * 0x1.0p-53;
}

}  // namespace vramplan::host
