#include "allocator/caching.h"

#include <algorithm>
#include <bit>

namespace vramplan {
namespace {

constexpr std::uint64_t kMinBlock = 512, kSmallSize = kMiB, kSmallBuffer = 2 * kMiB, kMinLarge = 10 * kMiB,
                        kLargeBuffer = 20 * kMiB, kRoundLarge = 2 * kMiB;
constexpr std::uint64_t kRange =
    1ULL << 44;  ///< addresses set aside for one expandable segment, or as many as a block needs

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Overflow("the allocator's addresses leave 64 bits");
  return sum;
}

std::uint64_t up(std::uint64_t n, std::uint64_t step) { return plus(n, step - 1) / step * step; }

std::uint64_t segment_size(std::uint64_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  return size < kMinLarge ? kLargeBuffer : up(size, kRoundLarge);
}

}  // namespace

CachingAllocator::Free::Iterator CachingAllocator::Free::lower_bound(std::uint64_t size) const {
  return std::lower_bound(blocks_.begin(), blocks_.end(), size,
                          [](const Block* b, std::uint64_t n) { return b->size < n; });
}
void CachingAllocator::Free::insert(Block* b) {
  const auto before = [](const Block* x, const Block* y) {
    return x->size != y->size ? x->size < y->size : x->address < y->address;
  };
  blocks_.insert(std::lower_bound(blocks_.begin(), blocks_.end(), b, before), b);
}
void CachingAllocator::Free::erase(Block* b) {
  auto it = blocks_.begin() + (lower_bound(b->size) - blocks_.cbegin());
  while (*it != b) ++it;
  blocks_.erase(it);
}

std::uint64_t CachingAllocator::rounded(std::uint64_t n) const {
  if (n < kMinBlock) return kMinBlock;
  const std::uint64_t divisions = options_.power2_divisions;
  if (divisions <= 1 || n <= kMinBlock * divisions) return up(n, kMinBlock);
  if (std::has_single_bit(n)) return n;
  const std::uint64_t floor = std::bit_floor(n), step = floor >> (std::bit_width(divisions) - 1);
  return step == 0 ? plus(floor, floor) : up(n, step);
}

CachingAllocator::Block* CachingAllocator::make(std::uint64_t address, std::uint64_t size, bool small) {
  if (spare_.empty()) {
    owned_.push_back(std::make_unique<Block>());
    spare_.push_back(owned_.back().get());
  }
  Block* b = spare_.back();
  spare_.pop_back();
  *b = Block{};
  b->address = address;
  b->size = size;
  b->small = small;
  return b;
}
void CachingAllocator::drop(Block* b) {
  b->size = 0;
  spare_.push_back(b);
}

void CachingAllocator::take(std::uint64_t bytes) {
  reserved_ = plus(reserved_, bytes);
  peak_reserved_ = std::max(peak_reserved_, reserved_);
}

bool CachingAllocator::allocate(Bytes requested, Handle handle) {
  const std::uint64_t size = rounded(requested.count());
  const bool small = size <= kSmallSize;
  Pool& pool = small ? small_ : large_;
  Block* b = best_fit(pool, size);
  if (!b) {
    if (collects_garbage()) collect_garbage();
    b = new_segment(pool, small, size);
  }
  if (!b && release_available(pool, size)) b = new_segment(pool, small, size);
  if (!b) {
    release_all();
    ++retries_;
    b = new_segment(pool, small, size);
  }
  if (!b) return false;
  if (should_split(b, size)) add_free(pool, cut(b, size));
  b->used = true;
  if (by_handle_.size() <= handle) by_handle_.resize(handle + std::size_t{1}, nullptr);
  by_handle_[handle] = b;
  allocated_ = plus(allocated_, b->size);
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return true;
}

void CachingAllocator::release(Handle handle) {
  Block* b = by_handle_[handle];
  by_handle_[handle] = nullptr;
  allocated_ -= b->size;
  b->used = false;
  Pool& pool = b->small ? small_ : large_;
  merge(pool, b, b->before);
  merge(pool, b, b->after);
  add_free(pool, b);
}

void CachingAllocator::add_free(Pool& pool, Block* b) {
  b->free_since = pool.searches;
  pool.free.insert(b);
}

/// The smallest free block that is large enough, the lowest address among equals. A block that can grow counts as large
/// as it can grow, so the growing end is chosen last. It leaves the free set.
CachingAllocator::Block* CachingAllocator::best_fit(Pool& pool, std::uint64_t size) {
  ++pool.searches;
  auto it = pool.free.lower_bound(size);
  if (it == pool.free.end()) return nullptr;
  auto reach = [](const Block* b) { return b->size + (b->after && !b->after->mapped ? b->after->size : 0); };
  if ((*it)->expandable)
    for (auto next = std::next(it); next != pool.free.end() && reach(*next) < reach(*it); ++next) it = next;
  Block* b = *it;
  if (size < options_.max_split && b->size >= options_.max_split) return nullptr;
  if (size >= options_.max_split && b->size >= size + options_.max_non_split_rounding) return nullptr;
  pool.free.erase(b);
  return b;
}

CachingAllocator::Block* CachingAllocator::new_segment(Pool& pool, bool small, std::uint64_t size) {
  if (options_.expandable) return grow(pool, small, size);
  const std::uint64_t bytes = segment_size(size);
  if (bytes > options_.capacity - std::min(options_.capacity, reserved_)) return nullptr;
  if (source_ && !source_->take(next_address_, bytes)) return nullptr;
  take(bytes);
  Block* b = make(next_address_, bytes, small);
  next_address_ = plus(next_address_, bytes);
  return b;
}

/// try_allocate_expandable_block: the lowest free end that, with the unmapped addresses behind it, has room.
CachingAllocator::Block* CachingAllocator::grow(Pool& pool, bool small, std::uint64_t size) {
  Block* candidate = nullptr;
  auto free = [](const Block* b) { return b && !b->used; };
  for (Block* u : pool.unmapped) {
    Block* from = free(u->before) ? u->before : u;
    std::uint64_t room = 0;
    for (Block* b = from; room < size && free(b); b = b->after) room = plus(room, b->size);
    if (room >= size) {
      candidate = from;
      break;
    }
  }
  if (!candidate) {
    // PyTorch sets aside an eighth more than the card has; a simulation without a capacity has to fit any block.
    const std::uint64_t range = up(size, kRange);
    const std::uint64_t behind = plus(next_address_, range);
    candidate = make(next_address_, range, small);
    next_address_ = behind;
    candidate->mapped = false;
    candidate->expandable = true;
    pool.unmapped.insert(candidate);
  }
  if (!candidate->mapped && !map(pool, candidate, std::min(candidate->size, size))) return nullptr;
  while (candidate->size < size) {
    Block* next = candidate->after;
    if (!map(pool, next, std::min(size - candidate->size, next->size))) return nullptr;
    candidate = next;
  }
  pool.free.erase(candidate);
  return candidate;
}

/// Map pages for the first `size` bytes of an unmapped block and join it with free neighbours.
bool CachingAllocator::map(Pool& pool, Block* b, std::uint64_t size) {
  const std::uint64_t bytes = up(size, pool.page);
  if (bytes > options_.capacity - std::min(options_.capacity, reserved_)) return false;
  take(bytes);
  pool.unmapped.erase(b);
  b->mapped = true;
  if (bytes < b->size) {
    Block* rest = cut(b, bytes);
    rest->mapped = false;
    pool.unmapped.insert(rest);
  }
  merge(pool, b, b->before);
  merge(pool, b, b->after);
  add_free(pool, b);
  return true;
}

bool CachingAllocator::should_split(const Block* b, std::uint64_t size) const {
  const std::uint64_t rest = b->size - size;
  if (b->small || options_.expandable) return rest >= kMinBlock;
  return size < options_.max_split && rest > kSmallSize;
}

/// Shorten a block to `size`; the rest becomes its neighbour, in no set yet.
CachingAllocator::Block* CachingAllocator::cut(Block* b, std::uint64_t size) {
  Block* rest = make(b->address + size, b->size - size, b->small);
  rest->expandable = b->expandable;
  rest->before = b;
  rest->after = b->after;
  if (rest->after) rest->after->before = rest;
  b->after = rest;
  b->size = size;
  return rest;
}

/// Join a free neighbour of the same state into a block that is in no set.
void CachingAllocator::merge(Pool& pool, Block* into, Block* n) {
  if (!n || n->used || n->mapped != into->mapped) return;
  if (n->mapped)
    pool.free.erase(n);
  else
    pool.unmapped.erase(n);
  if (n == into->before) {
    into->address = n->address;
    into->before = n->before;
    if (into->before) into->before->after = into;
  } else {
    into->after = n->after;
    if (into->after) into->after->before = into;
  }
  into->size += n->size;
  drop(n);
}

void CachingAllocator::give_back(Pool& pool, Block* b) {
  pool.free.erase(b);
  reserved_ -= b->size;
  if (source_) source_->give(b->address);
  drop(b);
}

/// With a split limit: first the smallest cached block that is large enough alone, else the largest ones together.
bool CachingAllocator::release_available(Pool& pool, std::uint64_t size) {
  if (options_.max_split == std::numeric_limits<std::uint64_t>::max() || options_.expandable) return false;
  const std::uint64_t wanted = std::max(size, options_.max_split);
  const auto it = pool.free.lower_bound(wanted);
  if (it != pool.free.end()) {
    give_back(pool, *it);
    return true;
  }
  std::uint64_t released = 0;
  while (released < wanted && !pool.free.empty() && pool.free.largest()->size >= options_.max_split) {
    released += pool.free.largest()->size;
    give_back(pool, pool.free.largest());
  }
  return released >= wanted;
}

/// release_cached_blocks: whole free segments, and whole pages inside free blocks of expandable ones.
void CachingAllocator::release_all() {
  for (Pool* pool : {&large_, &small_}) {
    const std::vector<Block*> blocks(pool->free.begin(), pool->free.end());
    for (Block* b : blocks) {
      if (b->expandable)
        unmap(*pool, b);
      else if (!b->before && !b->after)
        give_back(*pool, b);
    }
  }
}

/// garbage_collect_cached_blocks: when more than the threshold is reserved, whole cached segments of the large pool go
/// back, those first that have been free for at least the mean age, until enough is reclaimed. Age counts searches.
void CachingAllocator::collect_garbage() {
  const auto threshold =
      static_cast<std::uint64_t>(options_.garbage_threshold * static_cast<double>(options_.memory_limit));
  if (reserved_ <= threshold) return;
  const std::uint64_t target = reserved_ - threshold;
  const auto age = [&](const Block* b) { return large_.searches - b->free_since; };
  std::vector<Block*> whole;
  std::int64_t ages = 0;
  for (Block* b : large_.free)
    if (!b->before && !b->after) {
      whole.push_back(b);
      ages += age(b);
    }
  std::uint64_t reclaimed = 0;
  for (bool freed = true; reclaimed < target && freed && !whole.empty();) {
    const double mean = static_cast<double>(ages) / static_cast<double>(whole.size());
    freed = false;
    std::vector<Block*> younger;
    for (Block* b : whole) {
      if (b->expandable || static_cast<double>(age(b)) < mean) {
        younger.push_back(b);
        continue;
      }
      freed = true;
      reclaimed += b->size;
      ages -= age(b);
      give_back(large_, b);
    }
    whole = std::move(younger);
  }
}

void CachingAllocator::unmap(Pool& pool, Block* b) {
  const std::uint64_t first = up(b->address, pool.page), last = (b->address + b->size) / pool.page * pool.page;
  if (first >= last) return;
  pool.free.erase(b);
  if (first > b->address) {
    Block* head = b;
    b = cut(head, first - head->address);
    add_free(pool, head);
  }
  if (b->size > last - first) add_free(pool, cut(b, last - first));
  b->mapped = false;
  reserved_ -= b->size;
  merge(pool, b, b->before);
  merge(pool, b, b->after);
  pool.unmapped.insert(b);
}

std::vector<SegmentLayout> CachingAllocator::layout() const {
  std::vector<const Block*> heads;
  for (const auto& b : owned_)
    if (b->size > 0 && !b->before) heads.push_back(b.get());
  std::sort(heads.begin(), heads.end(), ByAddress{});
  std::vector<SegmentLayout> out;
  for (const Block* head : heads) {
    SegmentLayout segment;
    segment.small = head->small;
    for (const Block* b = head; b; b = b->after)
      if (b->mapped) segment.blocks.push_back({Bytes(b->size), b->used});
    if (!segment.blocks.empty()) out.push_back(std::move(segment));
  }
  return out;
}

}  // namespace vramplan
