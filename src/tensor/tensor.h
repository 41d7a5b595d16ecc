// Storage and the counted handle on it. A Tensor mirrors a Python reference: copying it shares the storage, and
// the storage is released when the last handle goes. A view shares the storage of its base and keeps the base
// itself alive (as PyTorch's view metadata does), which is why the autograd engine never adds into a view.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/pooled.h"
#include "base/ref.h"
#include "tensor/dims.h"
#include "vramplan/tensor/category.h"
#include "vramplan/tensor/dtype.h"

namespace vramplan {

class Memory;

/// The part of an autograd node that a tensor needs to know: that it is counted and can be dropped.
class GradFn : public Counted {
 public:
  virtual ~GradFn() = default;
};

class Storage final : public Counted, public Pooled<Storage> {
 public:
  Storage(Memory& m, Bytes n, std::uint32_t r, std::byte* p) : memory(m), bytes(n), record(r), data(p) {}
  ~Storage();
  Memory& memory;
  const Bytes bytes;
  const std::uint32_t record;  ///< in the ledger; kUnbooked for storages of no bytes
  std::byte* const data;       ///< null on the dry backend
  Category category = Category::temporary;
  static constexpr std::uint32_t kUnbooked = UINT32_MAX;
};

class TensorImpl final : public Counted, public Pooled<TensorImpl> {
 public:
  TensorImpl(Ref<Storage> bytes, const Dims& size, const Dims& steps, std::int64_t start, DType type)
      : storage(std::move(bytes)), shape(size), strides(steps), offset(start), dtype(type) {}

  Ref<Storage> storage;
  Dims shape, strides;
  std::int64_t offset = 0;  ///< in elements
  DType dtype;
  bool requires_grad = false;
  bool leaf = true;
  bool pinned = false;            ///< Python has seen it, and so counts one reference for life: never uniquely owned
  std::uint32_t output = 0;       ///< which output of grad_fn this is
  Ref<GradFn> grad_fn;            ///< null for leaves
  GradFn* accumulator = nullptr;  ///< the leaf's AccumulateGrad while a graph holds one
  Ref<TensorImpl> base;           ///< of a view
  Ref<TensorImpl> grad;           ///< of a leaf
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> p) : p_(std::move(p)) {}

  explicit operator bool() const { return static_cast<bool>(p_); }
  TensorImpl* operator->() const { return p_.get(); }
  TensorImpl& impl() const { return *p_; }
  const Ref<TensorImpl>& ref() const { return p_; }
  void reset() { p_.reset(); }

  const Dims& shape() const { return p_->shape; }
  const Dims& strides() const { return p_->strides; }
  std::int64_t size(int i) const { return p_->shape.at(i); }
  int rank() const { return p_->shape.rank(); }
  std::int64_t numel() const { return count(p_->shape); }
  /// Elements until they begin again: fewer where the first dimension repeats one row.
  std::int64_t distinct() const { return rank() > 1 && strides()[0] == 0 ? numel() / size(0) : numel(); }
  DType dtype() const { return p_->dtype; }
  bool requires_grad() const { return p_ && p_->requires_grad; }
  bool contiguous() const { return is_contiguous(p_->shape, p_->strides); }
  bool same_storage(const Tensor& o) const { return p_->storage.get() == o.p_->storage.get(); }

  /// First element; null on the dry backend.
  template <class T>
  T* data() const {
    return p_->storage->data ? reinterpret_cast<T*>(p_->storage->data) + p_->offset : nullptr;
  }

 private:
  Ref<TensorImpl> p_;
};

}  // namespace vramplan
