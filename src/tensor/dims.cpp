#include "tensor/dims.h"

#include <algorithm>
#include <stdexcept>

#include "vramplan/base/bytes.h"

namespace vramplan {

std::int64_t count(const Dims& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape)
    if (__builtin_mul_overflow(n, d, &n))
      throw Overflow("a tensor of shape " + to_string(shape) + " has more elements than 64 bits can count");
  return n;
}

Dims contiguous_strides(const Dims& shape) {
  Dims s;
  s.resize(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    s[i] = step;
    step = checked_multiply(step, std::max<std::int64_t>(shape[i], 1));
  }
  return s;
}

bool is_contiguous(const Dims& shape, const Dims& strides) {
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool is_dense(const Dims& shape, const Dims& strides) {
  if (is_contiguous(shape, strides)) return true;
  InlineVector<std::size_t, 5> order;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t step = 1;
  for (std::size_t i : order) {
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

Dims broadcast(const Dims& a, const Dims& b) {
  if (a == b) return a;
  Dims out;
  const std::size_t rank = std::max(a.size(), b.size());
  out.resize(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.size() >= rank ? a[i + a.size() - rank] : 1;
    const std::int64_t y = i + b.size() >= rank ? b[i + b.size() - rank] : 1;
    if (x != y && x != 1 && y != 1)
      throw std::logic_error("shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Dims expanded_strides(const Dims& shape, const Dims& strides, const Dims& to) {
  Dims out;
  out.resize(to.size());
  const std::size_t lead = to.size() - shape.size();
  for (std::size_t i = 0; i < to.size(); ++i)
    out[i] = i < lead || (shape[i - lead] == 1 && to[i] != 1) ? 0 : strides[i - lead];
  return out;
}

// After ATen/TensorUtils.cpp, computeStride_impl: walk the old dimensions from the inside, joining those that are
// adjacent in memory, and cut each joined run into new dimensions.
std::optional<Dims> view_strides(const Dims& shape, const Dims& strides, const Dims& to) {
  if (count(shape) == 0) return contiguous_strides(to);
  Dims out;
  out.resize(to.size());
  int view_d = to.rank() - 1;
  std::int64_t base = shape.empty() ? 1 : strides[shape.size() - 1], run = 1, viewed = 1;
  if (shape.empty()) {
    for (std::size_t i = 0; i < to.size(); ++i) out[i] = 1;
    return out;
  }
  for (int d = shape.rank() - 1; d >= 0; --d) {
    run *= shape.at(d);
    if (d != 0 && (shape.at(d - 1) == 1 || strides.at(d - 1) == run * base)) continue;
    while (view_d >= 0 && (viewed < run || to.at(view_d) == 1)) {
      out[static_cast<std::size_t>(view_d)] = viewed * base;
      viewed *= to.at(view_d--);
    }
    if (viewed != run) return std::nullopt;
    if (d > 0) base = strides.at(d - 1), run = 1, viewed = 1;
  }
  if (view_d != -1) return std::nullopt;
  return out;
}

Dims resolved(const Dims& shape, Dims to) {
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& d : to) {
    if (d == -1)
      open = &d;
    else
      known *= d;
  }
  if (open) *open = count(shape) / known;
  if (count(to) != count(shape)) throw std::logic_error("cannot see " + to_string(shape) + " as " + to_string(to));
  return to;
}

// After ATen/TensorIterator.cpp: an insertion sort with ambiguous comparisons, dimensions from the inside out.
Dims elementwise_strides(const Dims& shape, const Operand* operands, int n) {
  bool plain = true;
  for (int i = 0; i < n; ++i)
    plain = plain && *operands[i].shape == shape && is_contiguous(shape, *operands[i].strides);
  if (plain) return contiguous_strides(shape);
  InlineVector<Dims, 3> strides;
  for (int i = 0; i < n; ++i) strides.push_back(expanded_strides(*operands[i].shape, *operands[i].strides, shape));
  auto compare = [&](std::size_t a, std::size_t b) {
    for (const Dims& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  InlineVector<std::size_t, 5> perm;
  for (std::size_t i = shape.size(); i-- > 0;) perm.push_back(i);
  for (std::size_t i = 1; i < perm.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int c = compare(perm[j], perm[moving]);
      if (c > 0)
        std::swap(perm[j], perm[moving]), moving = j;
      else if (c < 0)
        break;
    }
  }
  Dims out;
  out.resize(shape.size());
  std::int64_t step = 1;
  for (std::size_t d : perm) {
    out[d] = step;
    step = checked_multiply(step, shape[d]);
  }
  return out;
}

Dims like_strides(const Dims& shape, const Dims& strides) {
  if (is_dense(shape, strides)) return strides;
  const Operand self{&shape, &strides};
  return elementwise_strides(shape, &self, 1);
}

Dims with_last(const Dims& shape, std::int64_t last) {
  Dims out = shape;
  out[out.size() - 1] = last;
  return out;
}

std::string to_string(const Dims& d) {
  std::string s = "[";
  for (std::size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

}  // namespace vramplan
