// A vector with room for N elements inside itself and no heap: for the handful of edges, saved tensors and
// dimensions that every node of a tape has. Going past N is a defect of the program.
#pragma once
#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace vramplan {

template <class T, std::size_t N>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(std::initializer_list<T> items) {
    for (const T& i : items) push_back(i);
  }

  void push_back(T item) {
    assert(size_ < N);
    items_[size_++] = std::move(item);
  }
  void resize(std::size_t n) {
    assert(n <= N);
    for (std::size_t i = n; i < size_; ++i) items_[i] = T{};
    size_ = n;
  }
  void clear() {
    for (std::size_t i = 0; i < size_; ++i) items_[i] = T{};
    size_ = 0;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
};

}  // namespace vramplan
