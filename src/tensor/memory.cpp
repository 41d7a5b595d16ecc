#include "tensor/memory.h"

namespace vramplan {

Storage::~Storage() { memory.release(*this); }

Tensor Memory::empty_strided(const Dims& shape, const Dims& strides, DType dtype, const char* op) {
  const Bytes bytes = storage_bytes(dtype, count(shape));
  // A tensor of no bytes allocates nothing (CUDACachingAllocator.cpp).
  const std::uint32_t record =
      bytes == Bytes() ? Storage::kUnbooked : ledger_.allocate({bytes, shape, place, op, dtype, Phase::init}, category);
  std::byte* data = bytes == Bytes() ? nullptr : backend_.allocate(bytes);
  Ref<Storage> storage = make_ref<Storage>(*this, bytes, record, data);
  storage->category = category;
  return Tensor(make_ref<TensorImpl>(std::move(storage), shape, strides, 0, dtype));
}

Tensor Memory::empty(const Dims& shape, DType dtype, const char* op) {
  return empty_strided(shape, contiguous_strides(shape), dtype, op);
}

Tensor Memory::empty_like(const Tensor& like, DType dtype, const char* op) {
  return empty_strided(like.shape(), like_strides(like.shape(), like.strides()), dtype, op);
}

void Memory::reclassify(const Tensor& t, Category c) {
  Storage& s = *t->storage;
  if (s.category == c) return;
  s.category = c;
  if (s.record != Storage::kUnbooked) ledger_.reclassify(s.record, c);
}

void Memory::release(const Storage& s) {
  if (s.record == Storage::kUnbooked) return;
  backend_.release(s.data, s.bytes);
  ledger_.release(s.record);
}

}  // namespace vramplan
