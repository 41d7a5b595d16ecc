#include "virtualgpu/card.h"

#include <algorithm>
#include <cstdio>

#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"

namespace virtualgpu {
namespace {

/// Bytes of shared memory a block may ask for, by compute capability (CUDA programming guide, technical
/// specifications).
int shared_memory() {
  const Settings& s = settings();
  if (s.major == 12 || (s.major == 8 && s.minor != 0 && s.minor != 7)) return 101376;
  if (s.major >= 9) return 232448;
  if (s.major == 8) return 166912;
  if (s.major == 7) return s.minor >= 5 ? 65536 : 98304;
  return 49152;
}

int threads_a_multiprocessor() {
  const Settings& s = settings();
  if (s.major == 11 || s.major == 12 || (s.major == 8 && s.minor > 0)) return 1536;
  return s.major == 7 && s.minor >= 5 ? 1024 : 2048;
}

int blocks_at_most() {
  const Settings& s = settings();
  if (s.major == 12 || (s.major == 8 && s.minor == 9)) return 24;
  return s.major == 8 && s.minor == 0 ? 32 : s.major == 8 || (s.major == 7 && s.minor >= 5) ? 16 : 32;
}

enum Attribute {
  kThreadsPerBlock = 1,  // then block x, y, z and grid x, y, z
  kSharedPerBlock = 8,
  kConstantMemory = 9,
  kWarp = 10,
  kRegistersPerBlock = 12,
  kClock = 13,
  kTextureAlignment = 14,
  kMultiprocessors = 16,
  kConcurrentKernels = 31,
  kMemoryClock = 36,
  kBusWidth = 37,
  kL2 = 38,
  kThreadsPerMultiprocessor = 39,
  kCopyEngines = 40,
  kUnifiedAddressing = 41,
  kMajor = 75,
  kMinor = 76,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kManagedMemory = 83,
  kCooperativeLaunch = 95,
  kSharedPerBlockOptIn = 97,
  kVirtualMemory = 102,
  kBlocksPerMultiprocessor = 106,
  kReservedSharedPerBlock = 111,
};

/// Where a number stands in the two layouts, of CUDA 12.4 and 13.0; they are equal before byte 384.
struct Field {
  size_t cuda12, cuda13;
  int which;
  bool wide;
};
constexpr Field kFields[] = {{296, 296, kSharedPerBlock, true},
                             {304, 304, kRegistersPerBlock, false},
                             {308, 308, kWarp, false},
                             {320, 320, 1, false},
                             {324, 324, 2, false},
                             {328, 328, 3, false},
                             {332, 332, 4, false},
                             {336, 336, 5, false},
                             {340, 340, 6, false},
                             {344, 344, 7, false},
                             {352, 352, kConstantMemory, true},
                             {360, 360, kMajor, false},
                             {364, 364, kMinor, false},
                             {368, 368, kTextureAlignment, true},
                             {388, 384, kMultiprocessors, false},
                             {576, 560, kConcurrentKernels, false},
                             {600, 584, kCopyEngines, false},
                             {604, 588, kUnifiedAddressing, false},
                             {612, 592, kBusWidth, false},
                             {616, 596, kL2, false},
                             {624, 604, kThreadsPerMultiprocessor, false},
                             {640, 624, kSharedPerMultiprocessor, true},
                             {648, 632, kRegistersPerMultiprocessor, false},
                             {652, 636, kManagedMemory, false},
                             {688, 668, kCooperativeLaunch, false},
                             {696, 672, kSharedPerBlockOptIn, true},
                             {712, 688, kBlocksPerMultiprocessor, false},
                             {720, 696, kReservedSharedPerBlock, true}};

}  // namespace

int attribute(int which) {
  switch (which) {
    case kThreadsPerBlock:
    case 2:
    case 3: return 1024;
    case 4: return 64;
    case 5: return 2147483647;
    case 6:
    case 7: return 65535;
    case kSharedPerBlock: return 49152;
    case kConstantMemory:
    case kRegistersPerBlock:
    case kRegistersPerMultiprocessor: return 65536;
    case kWarp: return 32;
    case kClock: return settings().clock;
    case kTextureAlignment: return 512;
    case kMultiprocessors: return settings().multiprocessors;
    case kConcurrentKernels:
    case kUnifiedAddressing:
    case kManagedMemory:
    case kCooperativeLaunch:
    case kVirtualMemory: return 1;
    case kMemoryClock: return settings().memory_clock;
    case kBusWidth: return settings().bus_bits;
    case kL2: return settings().l2;
    case kThreadsPerMultiprocessor: return threads_a_multiprocessor();
    case kCopyEngines: return 3;
    case kMajor: return settings().major;
    case kMinor: return settings().minor;
    case kSharedPerMultiprocessor: return shared_memory() + 1024;
    case kSharedPerBlockOptIn: return shared_memory();
    case kBlocksPerMultiprocessor: return blocks_at_most();
    case kReservedSharedPerBlock: return 1024;
    default: return 0;
  }
}

int blocks_a_multiprocessor(int threads) {
  return threads > 0 ? std::clamp(threads_a_multiprocessor() / threads, 1, blocks_at_most()) : 1;
}

int fill_properties(void* out, int card, Properties layout) {
  if (!is_card(card)) return kInvalidDevice;
  const bool cuda13 = layout == Properties::cuda13;
  std::memset(out, 0, cuda13 ? 1008 : 1032);
  std::snprintf(static_cast<char*>(out), 256, "%s", settings().name.c_str());
  put<int>(out, 256, card + 1);  // uuid
  put<size_t>(out, 288, Memory::instance().card(card).total);
  for (const Field& f : kFields) {
    const size_t at = cuda13 ? f.cuda13 : f.cuda12;
    if (f.wide)
      put<size_t>(out, at, static_cast<size_t>(attribute(f.which)));
    else
      put<int>(out, at, attribute(f.which));
  }
  put<int>(out, cuda13 ? 568 : 584, card + 1);  // PCI bus
  return kSuccess;
}

}  // namespace virtualgpu
