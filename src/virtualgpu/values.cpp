#include "virtualgpu/values.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"

namespace virtualgpu {
namespace {

constexpr size_t kMost = 4096, kLifetime = 64;  ///< notes, kernels

/// Bytes that are there, or come from other ranks once somebody looks.
class Content {
 public:
  explicit Content(std::vector<char> data) : data_(std::move(data)) {}
  explicit Content(std::function<std::vector<char>()> coming) : coming_(std::move(coming)) {}
  const std::vector<char>& bytes() {
    const std::lock_guard lock(mutex_);
    if (coming_) data_ = std::exchange(coming_, nullptr)();
    return data_;
  }

 private:
  std::mutex mutex_;
  std::vector<char> data_;
  std::function<std::vector<char>()> coming_;
};

/// A stretch of device memory that holds a stretch of a content.
struct Note {
  std::shared_ptr<Content> content;
  size_t offset, size, launch;
  bool shared;  ///< a collective wrote it
};

struct Notes {
  std::mutex mutex;
  std::map<const char*, Note> by_address;
};

Notes& notes() {
  static Notes* const n = new Notes;
  return *n;
}
std::atomic<size_t> launched{0}, zeros{0};
std::atomic<void (*)(size_t)> listener{nullptr};
std::atomic<bool>& noting() {
  static std::atomic<bool> on{number_of("WORLD_SIZE", 1) > 1};
  return on;
}

/// The caller holds the mutex, here and below.
void erase(const void* at, size_t n) {
  auto& all = notes().by_address;
  const char* const from = static_cast<const char*>(at);
  auto it = all.lower_bound(from - std::min(kLargestNote, reinterpret_cast<size_t>(from)));
  while (it != all.end() && it->first < from + n)
    it = it->first + it->second.size > from ? all.erase(it) : std::next(it);
}

void write(const void* at, const Note& note) {
  auto& all = notes().by_address;
  erase(at, note.size);
  if (note.size > kLargestNote || note.size == 0) return;
  if (all.size() >= kMost) all.clear();
  all[static_cast<const char*>(at)] = note;
}

/// The part of a young note that begins at this address, of at most n bytes.
std::optional<Note> find(const void* at, size_t n) {
  const auto& all = notes().by_address;
  const char* const from = static_cast<const char*>(at);
  auto it = all.upper_bound(from);
  if (it == all.begin()) return std::nullopt;
  const auto& [start, note] = *--it;
  if (from >= start + note.size || launched - note.launch > kLifetime) return std::nullopt;
  const auto skipped = static_cast<size_t>(from - start);
  return Note{note.content, note.offset + skipped, std::min(n, note.size - skipped), launched, note.shared};
}

/// Asks other ranks, if it must: the mutex is not held. Nothing where they do not know either.
std::vector<char> bytes_of(const Note& note) {
  const std::vector<char>& all = note.content->bytes();
  if (all.size() < note.offset + note.size) return {};
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(note.offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(note.size)};
}

std::optional<Note> find_locked(const void* at, size_t n) {
  const std::lock_guard lock(notes().mutex);
  return find(at, n);
}

void upload(void* to, const void* from, size_t n, bool from_device) {
  if (!noting()) return;
  const std::lock_guard lock(notes().mutex);
  if (from_device) {
    const auto note = find(from, n);
    erase(to, n);
    if (note) write(to, *note);
  } else if (n <= kLargestNote) {
    const char* const data = static_cast<const char*>(from);
    write(to, {std::make_shared<Content>(std::vector<char>(data, data + n)), 0, n, launched, false});
  } else {
    erase(to, n);
  }
}

void download(void* to, const void* from, size_t n) {
  if (noting()) {
    const auto note = find_locked(from, n);
    if (note && note->shared && note->size == n) {
      if (const std::vector<char> data = bytes_of(*note); !data.empty()) {
        std::copy(data.begin(), data.end(), static_cast<char*>(to));
        return;
      }
    }
  }
  ++zeros;
  std::memset(to, 0, n);
  // Another thread could wait for an interpreter lock whose holder waits for it.
  if (const auto f = listener.load(); f && gettid() == getpid()) f(n);
}

}  // namespace

void start_notes() { noting() = true; }
void kernel_launched() { ++launched; }
size_t launches() { return launched; }
size_t reads_of_zeros() { return zeros; }
void on_zero_read(void (*f)(size_t)) { listener = f; }

void copy(void* to, const void* from, size_t n) {
  if (n == 0) return;
  const Memory& memory = Memory::instance();
  const bool from_device = memory.on_device(from);
  if (memory.on_device(to))
    upload(to, from, n, from_device);
  else if (from_device)
    download(to, from, n);
  else
    std::memmove(to, from, n);
}

void fill(void* at, int value, size_t n) {
  if (!Memory::instance().on_device(at)) {
    std::memset(at, value, n);
  } else if (noting()) {
    const std::lock_guard lock(notes().mutex);
    erase(at, n);
  }
}

std::vector<char> noted(const void* from, size_t n) {
  const auto note = find_locked(from, n);
  return note ? bytes_of(*note) : std::vector<char>{};
}

void promise(void* to, size_t n, std::function<std::vector<char>()> bytes) {
  const std::lock_guard lock(notes().mutex);
  write(to, {std::make_shared<Content>(std::move(bytes)), 0, n, launched, true});
}

}  // namespace virtualgpu
