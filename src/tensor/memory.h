// Where tensors come from: the backend that holds their bytes and the ledger that books them, together with the
// place in the model and the category that new tensors get until something says otherwise.
#pragma once
#include "tensor/backend.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace vramplan {

class Memory {
 public:
  Memory(Backend& backend, Ledger& ledger) : backend_(backend), ledger_(ledger) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A new tensor with its own storage; its elements are not set. `op` names who asked.
  Tensor empty(const Dims& shape, DType dtype, const char* op);
  Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, const char* op);
  /// As `empty`, with the layout of `like`.
  Tensor empty_like(const Tensor& like, DType dtype, const char* op);

  void reclassify(const Tensor& t, Category c);

  Backend& backend() const { return backend_; }
  Ledger& ledger() const { return ledger_; }

  Place place;
  Category category = Category::temporary;

 private:
  friend class Storage;
  void release(const Storage& s);
  Backend& backend_;
  Ledger& ledger_;
};

/// What a kernel takes for itself while it runs; nothing when it takes no bytes.
class Scratch {
 public:
  Scratch(Memory& m, Bytes bytes, const char* op) : ledger_(m.ledger()) {
    if (bytes > Bytes()) record_ = ledger_.take(bytes, op, m.place);
  }
  ~Scratch() {
    if (record_ != Storage::kUnbooked) ledger_.give(record_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  Ledger& ledger_;
  std::uint32_t record_ = Storage::kUnbooked;
};

}  // namespace vramplan
