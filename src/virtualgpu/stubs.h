// Calls without an answer of their own, and what was asked in them: said in the report.
#pragma once
#include <atomic>

namespace virtualgpu {

/// One of those calls. They chain themselves up when first reached.
struct Stub {
  /// unanswered: it should give something that is not known here, so it fails ("not supported").
  /// workspace: a library asks how much memory it needs, and is told none.
  enum class Kind { unanswered, workspace };
  const char* name;
  Kind kind;
  std::atomic<unsigned> times{0};
  Stub* next = nullptr;
  void reached();
};

/// The newest first; null when none was reached.
const Stub* reached_stubs();

}  // namespace virtualgpu
