#include "virtualgpu/fatbin.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace virtualgpu {
namespace {

// fatbinary_section.h and fatbinary.h of CUDA 12: a wrapper (magic number, version, pointer) shows a header, which is
// followed by entries, each a header and its code. What bits 20 and 21 of an entry's flags mean was read off binaries
// that cuobjdump lists as sm_100a, sm_90a (20) and sm_103f (21).
constexpr std::uint32_t kWrapperMagic = 0x466243b1, kMagic = 0xba55ed50;
constexpr size_t kWrapperData = 8, kHeaderBytes = 6, kFatBytes = 8;
constexpr size_t kKind = 0, kEntryHeader = 4, kEntryBytes = 8, kArchitecture = 28, kFlags = 40, kShortestHeader = 48;
constexpr std::uint16_t kPtx = 1, kMachineCode = 2;
constexpr std::uint64_t kThisCardOnly = std::uint64_t{1} << 20;

template <class T>
T at(const char* base, size_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof value);
  return value;
}

struct Entry {
  std::uint16_t kind;
  int architecture;
  bool this_card_only;  ///< sm_90a: what other cards lack is used
};

/// Machine code runs on later cards of the same major number, PTX is compiled on any later one.
bool runs(const Entry& e, int card) {
  if (e.this_card_only) return e.architecture == card;
  if (e.architecture > card) return false;
  return e.kind == kPtx || (e.kind == kMachineCode && e.architecture / 10 == card / 10);
}

/// Machine code before PTX, the nearest before others.
bool better(const Entry& e, const std::optional<Entry>& than) {
  if (!than || e.kind != than->kind) return !than || e.kind == kMachineCode;
  return e.architecture > than->architecture;
}

std::optional<Entry> best_entry(const char* fat, int card) {
  std::optional<Entry> best;
  const char* p = fat + at<std::uint16_t>(fat, kHeaderBytes);
  const char* const end = p + at<std::uint64_t>(fat, kFatBytes);
  while (p + kShortestHeader <= end) {
    const auto header = at<std::uint32_t>(p, kEntryHeader);
    if (header < kShortestHeader) break;
    const Entry e{at<std::uint16_t>(p, kKind), at<int>(p, kArchitecture),
                  (at<std::uint64_t>(p, kFlags) & kThisCardOnly) != 0};
    if (runs(e, card) && better(e, best)) best = e;
    p += header + at<std::uint64_t>(p, kEntryBytes);
  }
  return best;
}

}  // namespace

std::optional<Code> code_for(const void* wrapper, int card) {
  const char* const w = static_cast<const char*>(wrapper);
  if (!w || at<std::uint32_t>(w, 0) != kWrapperMagic) return Code{card, card};
  const char* const fat = at<const char*>(w, kWrapperData);
  if (!fat || at<std::uint32_t>(fat, 0) != kMagic) return Code{card, card};
  const std::optional<Entry> e = best_entry(fat, card);
  if (!e) return std::nullopt;
  return Code{e->architecture, e->kind == kPtx ? card : e->architecture};
}

}  // namespace virtualgpu
