#include "virtualgpu/captures.h"

#include <map>
#include <mutex>

namespace virtualgpu {
namespace {

struct Captures {
  std::mutex mutex;
  std::map<Handle, unsigned long long> ids;
  unsigned long long next = 0;
};
Captures& captures() {
  static Captures* const c = new Captures;
  return *c;
}

}  // namespace

void begin_capture(Handle stream) {
  const std::lock_guard lock(captures().mutex);
  captures().ids[stream] = ++captures().next;
}

void end_capture(Handle stream) {
  const std::lock_guard lock(captures().mutex);
  captures().ids.erase(stream);
}

int capture_status(Handle stream, int* status, unsigned long long* id) {
  const std::lock_guard lock(captures().mutex);
  const auto it = captures().ids.find(stream);
  const bool active = it != captures().ids.end();
  if (status) *status = active ? 1 : 0;
  if (id) *id = active ? it->second : 0;
  return kSuccess;
}

}  // namespace virtualgpu
