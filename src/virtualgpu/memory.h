// Device memory that is counted and not there: bytes taken of each card, in pages of 2 MiB as the driver gives them, at
// addresses that are set aside and never touched.
#pragma once
#include <map>
#include <mutex>
#include <vector>

#include "virtualgpu/abi.h"

namespace virtualgpu {

constexpr size_t kPage = size_t{2} << 20;
constexpr size_t whole_pages(size_t n) { return (n + kPage - 1) / kPage * kPage; }

/// Addresses for all cards: first fit, neighbours joined on return.
class AddressSpace {
 public:
  AddressSpace();
  bool contains(const void* p) const { return p >= base_ && p < base_ + kSize; }
  /// Null when no stretch is long enough.
  char* take(size_t n);
  void give_back(const void* p, size_t n);

 private:
  static constexpr size_t kSize = size_t{1} << 44;  ///< expandable segments of 8 cards ask for more than their memory
  char* base_;
  std::map<size_t, size_t> free_;  ///< offset: bytes
};

struct CardMemory {
  size_t total = 0, used = 0, peak = 0, refused = 0;  ///< bytes; refused: how often there was not enough
  size_t collectives = 0;                             ///< bytes that groups of ranks took in all
};

/// All of it. Every call is safe from several threads.
class Memory {
 public:
  /// The one of this process, made at the first call of any CUDA function.
  static Memory& instance();

  int allocate(void** out, size_t bytes, int card);
  int release(const void* p);
  /// Addresses without memory, and memory without addresses: what expandable segments are made of.
  int reserve(Address* out, size_t bytes);
  int unreserve(Address p);
  int create(uint64_t* handle, size_t bytes, int card);
  int destroy(uint64_t handle);

  void note_collectives(int card, size_t bytes);

  /// Host memory that copies to the card may read.
  void pin(const void* p, size_t n);
  void unpin(const void* p);

  enum class Kind { host, pinned, device };
  Kind kind(const void* p);
  bool on_device(const void* p) const { return space_.contains(p); }
  /// The card of a device address; `otherwise` when nothing is there.
  int card_of(const void* p, int otherwise);
  CardMemory card(int which);
  int info(int card, size_t* free, size_t* total);
  int cards() const { return static_cast<int>(cards_.size()); }

 private:
  Memory();
  bool charge(int card, size_t n);
  struct Piece {
    int card;
    size_t bytes;
  };

  std::mutex mutex_;
  AddressSpace space_;
  std::vector<CardMemory> cards_;
  std::map<const void*, Piece> blocks_;
  std::map<Address, size_t> reserved_;
  std::map<uint64_t, Piece> physical_;
  std::map<const char*, size_t> pinned_;
  uint64_t next_physical_ = 1;
};

/// The card that this thread works on.
int& current_card();
bool is_card(int which);

}  // namespace virtualgpu
