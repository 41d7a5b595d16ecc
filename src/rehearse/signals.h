// Signals that are meant for a command we run: while one of these lives they go to the command, and those that come
// before it has started or after it has ended wait, so that what we made for it is cleared away first.
#pragma once
#include <sys/types.h>

namespace vramplan {

class PassedOnSignals {
 public:
  /// A second one within the life of the first changes nothing.
  PassedOnSignals();
  /// What came after the command's end, and would have ended us, does so now.
  ~PassedOnSignals();
  PassedOnSignals(const PassedOnSignals&) = delete;
  PassedOnSignals& operator=(const PassedOnSignals&) = delete;

  /// Signals go to `child` from here on, those that waited first; 0: nobody.
  static void go_to(pid_t child);
  /// The last that was passed on and usually ends a program; 0: none.
  static int ending();
  /// Around a fork: none arrives in between. `release` in the child, or in the parent.
  static void hold();
  static void release();
  /// In the child: as they were before us.
  static void restore();

 private:
  bool first_;
};

}  // namespace vramplan
