// Calls that should answer something and have no answer: they succeed, and are remembered.
#pragma once
#include <atomic>

namespace virtualgpu {

/// One of those calls. They chain themselves up when first reached.
struct Stub {
  const char* name;
  std::atomic<unsigned> times{0};
  Stub* next = nullptr;
  /// 0, or 801 (not supported) when only calls with an answer are allowed.
  int reached();
};

/// The newest first; null when none was reached.
const Stub* reached_stubs();

}  // namespace virtualgpu
