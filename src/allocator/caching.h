// PyTorch's CUDA caching allocator, simulated: what is asked, what that takes of a segment (allocated), and what the
// process has taken from the driver (reserved). One device, one stream. After c10/cuda/CUDACachingAllocator.cpp
// of 2.15; sizes and rules are in allocator theory: blocks of 512 bytes, segments of 2 MiB and 20 MiB, best fit, split,
// merge.
//
// Without expandable segments a request below 1 MiB is cut from a 2 MiB segment, one below 10 MiB from a 20 MiB
// segment, larger ones get a segment of their own, rounded up to 2 MiB. With them each pool is one range of addresses
// whose pages are mapped as it grows.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

struct AllocatorOptions {
  bool expandable = false;
  std::uint64_t max_split = std::numeric_limits<std::uint64_t>::max();  ///< bytes; larger blocks are never split
  std::uint64_t max_non_split_rounding = 20 * kMiB;
  std::uint64_t power2_divisions = 0;                                  ///< 0: off
  std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();  ///< what the driver gives at most
  double garbage_threshold = 0;    ///< share of memory_limit above which old cached segments go back; 0: off
  std::uint64_t memory_limit = 0;  ///< of set_per_process_memory_fraction; 0: none set, and no garbage collected
};

/// PYTORCH_ALLOC_CONF: "expandable_segments:True,max_split_size_mb:64". Options that change nothing here are read over;
/// unknown ones are an error. Throws UserError.
AllocatorOptions parse_alloc_conf(std::string_view text);

/// A piece of memory that the driver gave, and the blocks it is cut into, in order.
struct SegmentLayout {
  bool small = false;  ///< of the pool for requests up to 1 MiB
  struct Block {
    Bytes size;
    bool used;
  };
  std::vector<Block> blocks;
};

/// Who gives the segments, where they are real. A simulation has none: it takes what it wants up to `capacity`.
class SegmentSource {
 public:
  SegmentSource() = default;
  SegmentSource(const SegmentSource&) = delete;
  SegmentSource& operator=(const SegmentSource&) = delete;
  virtual ~SegmentSource() = default;
  /// `address` is the segment's name here. False: out of memory.
  virtual bool take(std::uint64_t address, std::uint64_t bytes) = 0;
  virtual void give(std::uint64_t address) = 0;
};

class CachingAllocator {
 public:
  explicit CachingAllocator(const AllocatorOptions& options) : options_(options) {}
  /// `source` must outlive this; not with expandable segments.
  CachingAllocator(const AllocatorOptions& options, SegmentSource& source) : options_(options), source_(&source) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  using Handle = std::uint32_t;
  /// False when the memory is exhausted even after cached blocks went back to the driver.
  bool allocate(Bytes requested, Handle handle);
  void release(Handle handle);
  /// Of a block in use, in the addresses by which the source knows its segments.
  std::uint64_t address(Handle handle) const { return by_handle_[handle]->address; }

  Bytes allocated() const { return Bytes(allocated_); }
  Bytes reserved() const { return Bytes(reserved_); }
  Bytes peak_allocated() const { return Bytes(peak_allocated_); }
  Bytes peak_reserved() const { return Bytes(peak_reserved_); }
  int retries() const { return retries_; }
  /// The segments held of the driver, by address; unmapped parts of expandable ones are left out.
  std::vector<SegmentLayout> layout() const;
  void reset_peaks() { peak_allocated_ = allocated_, peak_reserved_ = reserved_; }

 private:
  struct Block {
    std::uint64_t address = 0, size = 0;
    Block* before = nullptr;
    Block* after = nullptr;
    bool small = false, used = false, mapped = true, expandable = false;
    std::int64_t free_since = 0;  ///< searches of its pool when it became free
  };
  /// Blocks in order of size, then address. A sorted array: there are tens of free blocks, and they move little.
  class Free {
   public:
    using Iterator = std::vector<Block*>::const_iterator;
    Iterator lower_bound(std::uint64_t size) const;
    void insert(Block* b);
    void erase(Block* b);
    Iterator begin() const { return blocks_.begin(); }
    Iterator end() const { return blocks_.end(); }
    bool empty() const { return blocks_.empty(); }
    Block* largest() const { return blocks_.back(); }

   private:
    std::vector<Block*> blocks_;
  };
  struct ByAddress {
    bool operator()(const Block* a, const Block* b) const { return a->address < b->address; }
  };
  struct Pool {
    Free free;
    std::set<Block*, ByAddress> unmapped;
    std::uint64_t page = 0;
    std::int64_t searches = 0;
  };

  std::uint64_t rounded(std::uint64_t n) const;
  void add_free(Pool& pool, Block* b);
  Block* best_fit(Pool& pool, std::uint64_t size);
  Block* new_segment(Pool& pool, bool small, std::uint64_t size);
  Block* grow(Pool& pool, bool small, std::uint64_t size);
  bool map(Pool& pool, Block* b, std::uint64_t size);
  void unmap(Pool& pool, Block* b);
  bool release_available(Pool& pool, std::uint64_t size);
  void release_all();
  bool collects_garbage() const { return options_.garbage_threshold > 0 && options_.memory_limit > 0; }
  void collect_garbage();
  void give_back(Pool& pool, Block* b);
  bool should_split(const Block* b, std::uint64_t size) const;
  Block* cut(Block* b, std::uint64_t size);
  void merge(Pool& pool, Block* into, Block* neighbour);
  Block* make(std::uint64_t address, std::uint64_t size, bool small);
  void drop(Block* b);
  void take(std::uint64_t bytes);

  AllocatorOptions options_;
  SegmentSource* source_ = nullptr;
  Pool small_{{}, {}, 2 * kMiB, 0}, large_{{}, {}, 20 * kMiB, 0};
  std::vector<std::unique_ptr<Block>> owned_;
  std::vector<Block*> spare_;
  std::vector<Block*> by_handle_;
  std::uint64_t next_address_ = 1ULL << 40;
  std::uint64_t allocated_ = 0, reserved_ = 0, peak_allocated_ = 0, peak_reserved_ = 0;
  int retries_ = 0;
};

}  // namespace vramplan
