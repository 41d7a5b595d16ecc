// Collectives (libnccl) that succeed at once: each rank is a process with a card of its own and takes the others to
// have sent what it sent itself. Transport buffers are not counted.
#include <deque>
#include <mutex>
#include <vector>

#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

extern "C" int cudaMalloc(void**, size_t);
extern "C" int cudaFree(void*);

namespace {

struct Communicator {
  int ranks, rank;
};
Communicator& communicator(void* c) { return *static_cast<Communicator*>(c); }

/// Communicators live as long as the process: some are used while others are destroyed.
int make(void** out, int ranks, int rank) {
  static std::mutex mutex;
  static auto* const all = new std::deque<Communicator>;
  start_notes();
  const std::lock_guard lock(mutex);
  all->push_back({ranks, rank});
  *out = &all->back();
  return kSuccess;
}

/// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two of fp8.
size_t bytes(size_t count, int type) {
  static constexpr size_t kSize[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return count * (type >= 0 && type < 12 ? kSize[type] : 1);
}

struct UniqueId {
  char bytes[128];
};

/// A gather into a list is a group of broadcasts, one for each root.
struct Broadcast {
  const void* from;
  void* to;
  size_t n;
  bool mine;
};
struct Group {
  int depth = 0;
  std::vector<Broadcast> broadcasts;
};
Group& group() {
  thread_local Group g;
  return g;
}

}  // namespace

VGPU_EXPORT int ncclGetVersion(int* v) {
  *v = settings().nccl;
  return kSuccess;
}
VGPU_EXPORT int ncclGetUniqueId(void* id) {
  std::memset(id, 1, sizeof(UniqueId));
  return kSuccess;
}
VGPU_EXPORT int ncclCommGetUniqueId(void*, void* id) { return ncclGetUniqueId(id); }
VGPU_EXPORT int ncclCommInitRank(void** c, int n, UniqueId, int rank) { return make(c, n, rank); }
VGPU_EXPORT int ncclCommInitRankConfig(void** c, int n, UniqueId, int rank, void*) { return make(c, n, rank); }
VGPU_EXPORT int ncclCommInitRankScalable(void** c, int n, int rank, int, void*, void*) { return make(c, n, rank); }
VGPU_EXPORT int ncclCommInitAll(void** c, int n, const int*) {
  for (int i = 0; i < n; ++i) make(c + i, n, i);
  return kSuccess;
}
VGPU_EXPORT int ncclCommSplit(void* c, int color, int key, void** out, void*) {
  *out = nullptr;
  return color < 0 ? kSuccess : make(out, communicator(c).ranks, key);
}
VGPU_EXPORT int ncclCommCount(void* c, int* n) {
  *n = communicator(c).ranks;
  return kSuccess;
}
VGPU_EXPORT int ncclCommUserRank(void* c, int* r) {
  *r = communicator(c).rank;
  return kSuccess;
}
VGPU_EXPORT int ncclCommCuDevice(void*, int* d) {
  *d = current_card();
  return kSuccess;
}
VGPU_EXPORT int ncclCommGetAsyncError(void*, int* e) {
  *e = kSuccess;
  return kSuccess;
}
VGPU_EXPORT const char* ncclGetErrorString(int) { return "virtual"; }
VGPU_EXPORT const char* ncclGetLastError(void*) { return ""; }
VGPU_EXPORT int ncclCommRegister(void*, void*, size_t, void** handle) {
  *handle = nullptr;
  return kSuccess;
}
VGPU_EXPORT int ncclMemAlloc(void** p, size_t n) { return cudaMalloc(p, n); }
VGPU_EXPORT int ncclMemFree(void* p) { return cudaFree(p); }

VGPU_EXPORT int ncclAllGather(const void* from, void* to, size_t n, int type, void* c, Handle) {
  pass_on(from, to, bytes(n, type), communicator(c).ranks);
  return kSuccess;
}
VGPU_EXPORT int ncclAllReduce(const void* from, void* to, size_t n, int type, int, void*, Handle) {
  pass_on(from, to, bytes(n, type), 1);
  return kSuccess;
}
VGPU_EXPORT int ncclReduce(const void* from, void* to, size_t n, int type, int, int, void*, Handle) {
  if (to) pass_on(from, to, bytes(n, type), 1);
  return kSuccess;
}
VGPU_EXPORT int ncclReduceScatter(const void* from, void* to, size_t n, int type, int, void* c, Handle) {
  const size_t part = bytes(n, type);
  pass_on(static_cast<const char*>(from) + static_cast<size_t>(communicator(c).rank) * part, to, part, 1);
  return kSuccess;
}
VGPU_EXPORT int ncclGroupStart() {
  ++group().depth;
  return kSuccess;
}
/// The other roots are taken to have sent what this rank did.
VGPU_EXPORT int ncclGroupEnd() {
  Group& g = group();
  if (--g.depth > 0) return kSuccess;
  const void* mine = nullptr;
  for (const Broadcast& b : g.broadcasts)
    if (b.mine) mine = b.from;
  for (const Broadcast& b : g.broadcasts) pass_on(b.mine || !mine ? b.from : mine, b.to, b.n, 1);
  g.broadcasts.clear();
  return kSuccess;
}
VGPU_EXPORT int ncclBroadcast(const void* from, void* to, size_t n, int type, int root, void* c, Handle) {
  ncclGroupStart();
  group().broadcasts.push_back({from, to, bytes(n, type), root == communicator(c).rank});
  return ncclGroupEnd();
}
VGPU_EXPORT int ncclBcast(void* at, size_t n, int type, int root, void* c, Handle stream) {
  return ncclBroadcast(at, at, n, type, root, c, stream);
}
