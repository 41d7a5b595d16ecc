// The ledger: every allocation and release of a run, in order. It only writes down; sums, peaks and the tensors
// alive at an instant are found by reading it again, so nothing can be counted in one place and forgotten in
// another. Sizes are kept as requested and as rounded up to the 512-byte blocks of the CUDA caching allocator.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/dims.h"
#include "vramplan/base/bytes.h"
#include "vramplan/tensor/category.h"
#include "vramplan/tensor/dtype.h"

namespace vramplan {

inline constexpr std::uint64_t kBlock = 512;  // kMinBlockSize of c10/cuda/CUDACachingAllocator.cpp

/// Where in the model something is made. Strings outlive the ledger: literals, or names owned by the model.
struct Place {
  std::int32_t layer = -1;  ///< -1 outside the repeated layers
  const char* module = "";  ///< "self_attn", "mlp", "lm_head" ...
};

struct Record {
  Bytes bytes;
  Dims shape;
  Place place;
  const char* op = "";  ///< the operation that made it, by PyTorch's name for it
  DType dtype = DType::fp32;
  Phase phase = Phase::init;
};

struct Event {
  /// product, biased_product: a matrix product runs here, the second with its bias in one call of cuBLASLt.
  /// take, give: a kernel's own memory, which no sum of the ledger counts.
  enum class Kind : std::uint8_t { allocate, release, reclassify, product, biased_product, take, give };
  std::uint32_t record = 0;
  Kind kind = Kind::allocate;
  Category category = Category::temporary;  ///< for allocate and reclassify
  Phase phase = Phase::init;
};

/// A pair of sums over live tensors: exact sizes, and each rounded up to 512 bytes.
struct Tally {
  Bytes requested, rounded;
};

class Ledger {
 public:
  using Instant = std::size_t;  ///< a number of events

  Ledger();
  std::uint32_t allocate(const Record& r, Category c);
  void release(std::uint32_t record);
  void reclassify(std::uint32_t record, Category c);
  /// Marks an instant at which cuBLAS or cuBLASLt takes and returns its workspace. Changes no sum.
  void product(Event::Kind kind);
  /// Memory that a kernel takes for itself; changes no sum either.
  std::uint32_t take(Bytes bytes, const char* op, const Place& place);
  void give(std::uint32_t record);

  void enter(Phase p) { phase_ = p; }
  Phase phase() const { return phase_; }
  Instant now() const { return events_.size(); }

  const Record& record(std::uint32_t i) const { return records_[i]; }
  const std::vector<Event>& events() const { return events_; }

  /// Live bytes after the first `t` events.
  Tally live(Instant t) const;
  /// The highest live bytes at instants `from` to `to`, both included, and where the requested sum is highest.
  struct Peak {
    Tally tally;
    Instant at = 0;
  };
  Peak peak(Instant from, Instant to) const;

  struct Alive {
    std::uint32_t record;
    Category category;
  };
  /// The tensors alive after the first `t` events, in the order they were made.
  std::vector<Alive> alive(Instant t) const;

 private:
  std::vector<Record> records_;
  std::vector<Event> events_;
  Phase phase_ = Phase::init;
};

/// Whether the first `to` events of both are the same, one by one: what they do, to tensors of which size, shape and
/// type, in which phase.
bool same_events(const Ledger& a, const Ledger& b, Ledger::Instant to);

}  // namespace vramplan
