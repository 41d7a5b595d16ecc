#include "virtualgpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "virtualgpu/settings.h"

namespace virtualgpu {

AddressSpace::AddressSpace() {
  void* at = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    std::perror("virtual gpu: no addresses for its memory");
    std::abort();
  }
  base_ = static_cast<char*>(at);
  const size_t skip = (kPage - reinterpret_cast<uintptr_t>(base_) % kPage) % kPage;
  free_[skip] = kSize - skip;
}

char* AddressSpace::take(size_t n) {
  const auto it = std::find_if(free_.begin(), free_.end(), [&](const auto& f) { return f.second >= n; });
  if (it == free_.end()) return nullptr;
  const auto [at, have] = *it;
  free_.erase(it);
  if (have > n) free_[at + n] = have - n;
  return base_ + at;
}

void AddressSpace::give_back(const void* p, size_t n) {
  auto it = free_.emplace(static_cast<const char*>(p) - base_, n).first;
  const auto next = std::next(it);
  if (next != free_.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free_.erase(next);
  }
  if (it == free_.begin()) return;
  const auto before = std::prev(it);
  if (before->first + before->second != it->first) return;
  before->second += it->second;
  free_.erase(it);
}

Memory::Memory() {
  const Settings& s = settings();
  cards_.assign(static_cast<size_t>(s.visible), CardMemory{s.memory, s.context, s.context});
}

Memory& Memory::instance() {
  static Memory* const m = new Memory;  // never destroyed: programs free device memory while they end
  return *m;
}

bool Memory::charge(int which, size_t n) {
  CardMemory& card = cards_[static_cast<size_t>(which)];
  if (n > card.total || card.used > card.total - n) {
    ++card.refused;
    return false;
  }
  card.used += n;
  card.peak = std::max(card.peak, card.used);
  return true;
}

int Memory::allocate(void** out, size_t bytes, int card) {
  const std::lock_guard lock(mutex_);
  *out = nullptr;
  if (bytes == 0) return kSuccess;
  if (bytes > ~size_t{0} - kPage) return kOutOfMemory;
  const size_t n = whole_pages(bytes);
  if (!is_card(card)) return kInvalidDevice;
  if (!charge(card, n)) return kOutOfMemory;
  *out = space_.take(n);
  if (!*out) return kOutOfMemory;
  blocks_[*out] = {card, n};
  return kSuccess;
}

int Memory::release(const void* p) {
  if (!p) return kSuccess;
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(p);
  if (it == blocks_.end()) return kInvalidValue;
  cards_[static_cast<size_t>(it->second.card)].used -= it->second.bytes;
  space_.give_back(p, it->second.bytes);
  blocks_.erase(it);
  return kSuccess;
}

int Memory::reserve(Address* out, size_t bytes) {
  const std::lock_guard lock(mutex_);
  char* const at = space_.take(whole_pages(bytes));
  if (!at) return kOutOfMemory;
  *out = reinterpret_cast<Address>(at);
  reserved_[*out] = whole_pages(bytes);
  return kSuccess;
}

int Memory::unreserve(Address p) {
  const std::lock_guard lock(mutex_);
  const auto it = reserved_.find(p);
  if (it == reserved_.end()) return kInvalidValue;
  space_.give_back(reinterpret_cast<const void*>(p), it->second);
  reserved_.erase(it);
  return kSuccess;
}

int Memory::create(uint64_t* handle, size_t bytes, int card) {
  const std::lock_guard lock(mutex_);
  if (!is_card(card)) return kInvalidDevice;
  if (!charge(card, bytes)) return kOutOfMemory;
  *handle = next_physical_++;
  physical_[*handle] = {card, bytes};
  return kSuccess;
}

int Memory::destroy(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = physical_.find(handle);
  if (it == physical_.end()) return kInvalidValue;
  cards_[static_cast<size_t>(it->second.card)].used -= it->second.bytes;
  physical_.erase(it);
  return kSuccess;
}

void Memory::note_collectives(int card, size_t bytes) {
  const std::lock_guard lock(mutex_);
  cards_[static_cast<size_t>(card)].collectives += bytes;
}

void Memory::pin(const void* p, size_t n) {
  const std::lock_guard lock(mutex_);
  pinned_[static_cast<const char*>(p)] = n;
}

void Memory::unpin(const void* p) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(static_cast<const char*>(p));
}

Memory::Kind Memory::kind(const void* p) {
  if (space_.contains(p)) return Kind::device;
  const std::lock_guard lock(mutex_);
  const char* const at = static_cast<const char*>(p);
  const auto it = pinned_.upper_bound(at);
  const bool inside = it != pinned_.begin() && at < std::prev(it)->first + std::prev(it)->second;
  return inside ? Kind::pinned : Kind::host;
}

int Memory::card_of(const void* p, int otherwise) {
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.upper_bound(p);
  if (it == blocks_.begin()) return otherwise;
  const auto& [start, piece] = *std::prev(it);
  return p < static_cast<const char*>(start) + piece.bytes ? piece.card : otherwise;
}

CardMemory Memory::card(int which) {
  const std::lock_guard lock(mutex_);
  return cards_[static_cast<size_t>(which)];
}

int Memory::info(int which, size_t* free, size_t* total) {
  if (!is_card(which)) return kNoDevice;
  const CardMemory c = card(which);
  *total = c.total;
  *free = c.total - c.used;
  return kSuccess;
}

int& current_card() {
  thread_local int card = 0;
  return card;
}

bool is_card(int which) { return which >= 0 && which < Memory::instance().cards(); }

}  // namespace virtualgpu
