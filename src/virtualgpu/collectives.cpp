// Collectives (libnccl) that succeed at once: each rank is a process with a card of its own. Of small data that a rank
// has uploaded the others get the bytes; a rank that stands for all takes the others to have sent what it sent itself.
// The buffers of a group are taken from the card at its first use, as many as were seen.
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "virtualgpu/exchange.h"
#include "virtualgpu/memory.h"
#include "virtualgpu/reduction.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

extern "C" int cudaMalloc(void**, size_t);
extern "C" int cudaFree(void*);

namespace {

/// What NCCL takes of each card for a group of two and of more ranks: seen on A100s, one figure each. Its parts are 10
/// MiB for each channel (8 to 32) and connection (NCCL 2.30 init.cc, p2p.cc); 0.3 to 1.5 GiB a group were seen in all.
constexpr size_t kBuffersOfTwo = size_t{544} << 20, kBuffersOfMore = size_t{688} << 20;
constexpr int kNoMemory = 1;  ///< ncclUnhandledCudaError

struct Communicator {
  int ranks = 1, rank = 0;
  std::string name;  ///< empty: the others are not there
  std::mutex mutex;
  void* buffers = nullptr;
  size_t turns = 0;               ///< collectives of small data so far, the same in each rank
  std::map<int, size_t> letters;  ///< asked for so far, by sender
};
Communicator& communicator(void* c) { return *static_cast<Communicator*>(c); }

/// Communicators live as long as the process: some are used while others are destroyed.
int make(void** out, int ranks, int rank, const std::string& name) {
  static std::mutex mutex;
  static auto* const all = new std::deque<Communicator>;
  start_notes();
  const std::lock_guard lock(mutex);
  Communicator& made = all->emplace_back();
  made.ranks = ranks;
  made.rank = rank;
  if (ranks > 1 && can_exchange()) made.name = name;
  *out = &made;
  return kSuccess;
}

int connect(Communicator& c) {
  const std::lock_guard lock(c.mutex);
  if (c.ranks < 2 || c.buffers) return kSuccess;
  const size_t n = c.ranks == 2 ? kBuffersOfTwo : kBuffersOfMore;
  if (Memory::instance().allocate(&c.buffers, n, current_card()) != kSuccess) return kNoMemory;
  Memory::instance().note_collectives(current_card(), n);
  return kSuccess;
}

std::string channel(const Communicator& c, int rank) { return c.name + "." + std::to_string(rank); }

/// The message that each rank gave in a turn, waited for; of those who did not know theirs, nothing.
std::vector<Bytes> messages(const Communicator& c, size_t turn) {
  std::vector<Bytes> all;
  all.reserve(static_cast<size_t>(c.ranks));
  for (int r = 0; r < c.ranks; ++r) all.push_back(message(channel(c, r), turn).value_or(Bytes{}));
  return all;
}

size_t take_turn(Communicator& c, const Bytes& mine) {
  const std::lock_guard lock(c.mutex);
  post(channel(c, c.rank), mine);
  return c.turns++;
}

/// What becomes of the bytes that all ranks gave.
using Outcome = std::function<Bytes(const std::vector<Bytes>&)>;

/// All ranks give `given` bytes of `from`, and `got` bytes come `to` each that has a place for them.
int collective(Communicator& c, const void* from, size_t given, void* to, size_t got, const Outcome& outcome) {
  if (const int error = connect(c)) return error;
  if (std::max(given, got) > kLargestNote) {  // the same in all ranks
    if (to) promise(to, got, [] { return Bytes{}; });
    return kSuccess;
  }
  const Bytes mine = noted(from, given);
  if (c.name.empty()) {
    const Bytes result = outcome(std::vector<Bytes>(static_cast<size_t>(c.ranks), mine));
    if (to) promise(to, got, [result] { return Bytes(result); });
    return kSuccess;
  }
  const size_t turn = take_turn(c, mine);
  if (to) promise(to, got, [&c, turn, outcome] { return outcome(messages(c, turn)); });
  return kSuccess;
}

/// One after another, each of n bytes, unless nobody knows any.
Bytes joined(const std::vector<Bytes>& all, size_t n) {
  if (std::all_of(all.begin(), all.end(), [](const Bytes& b) { return b.empty(); })) return {};
  Bytes out;
  for (Bytes part : all) {
    part.resize(n);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

/// The piece number i of a message of pieces of n bytes.
Bytes piece(const Bytes& all, int i, size_t n) {
  const size_t begin = static_cast<size_t>(i) * n;
  if (all.size() < begin + n) return {};
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {at, at + static_cast<std::ptrdiff_t>(n)};
}

/// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two of fp8.
size_t bytes(size_t count, int type) {
  static constexpr size_t kSize[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return count * (type >= 0 && type < 12 ? kSize[type] : 1);
}

struct UniqueId {
  char bytes[128];
};
std::string name_of(const UniqueId& id) { return {id.bytes, strnlen(id.bytes, sizeof id.bytes)}; }

/// A gather into a list is a group of broadcasts, one for each root. Alone, the other roots are taken to have sent what
/// this rank did, so the group is waited for.
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

void broadcast_alone(const Group& g) {
  const void* mine = nullptr;
  for (const Broadcast& b : g.broadcasts)
    if (b.mine) mine = b.from;
  for (const Broadcast& b : g.broadcasts) {
    const Bytes result = noted(b.mine || !mine ? b.from : mine, b.n);
    promise(b.to, b.n, [result] { return Bytes(result); });
  }
}

}  // namespace

VGPU_EXPORT int ncclGetVersion(int* v) {
  *v = settings().nccl;
  return kSuccess;
}
VGPU_EXPORT int ncclGetUniqueId(void* id) {
  std::memset(id, 0, sizeof(UniqueId));
  const std::string name = new_name();
  std::copy(name.begin(), name.end(), static_cast<char*>(id));
  return kSuccess;
}
VGPU_EXPORT int ncclCommGetUniqueId(void*, void* id) { return ncclGetUniqueId(id); }
VGPU_EXPORT int ncclCommInitRank(void** c, int n, UniqueId id, int rank) { return make(c, n, rank, name_of(id)); }
/// The first number after those of NCCL itself (ncclNumOps): an operation of the program's own.
VGPU_EXPORT int ncclRedOpCreatePreMulSum(int* op, void*, int, int, void*) {
  *op = 5;
  return 0;
}
VGPU_EXPORT int ncclCommInitRankConfig(void** c, int n, UniqueId id, int rank, void*) {
  return make(c, n, rank, name_of(id));
}
VGPU_EXPORT int ncclCommInitRankScalable(void** c, int n, int rank, int, UniqueId* ids, void*) {
  return make(c, n, rank, name_of(*ids));
}
VGPU_EXPORT int ncclCommInitAll(void** c, int n, const int*) {
  for (int i = 0; i < n; ++i) make(c + i, n, i, "");
  return kSuccess;
}
/// Ranks of one color, in the order of their keys.
VGPU_EXPORT int ncclCommSplit(void* parent, int color, int key, void** out, void*) {
  Communicator& c = communicator(parent);
  *out = nullptr;
  if (c.name.empty()) return color < 0 ? kSuccess : make(out, c.ranks, key, "");
  struct Choice {
    int color, key;
  };
  const Choice mine{color, key};
  const char* const at = reinterpret_cast<const char*>(&mine);
  const size_t turn = take_turn(c, {at, at + sizeof mine});
  if (color < 0) return kSuccess;
  int ranks = 0, before = 0, rank = 0;
  for (const Bytes& m : messages(c, turn)) {
    Choice other{-1, 0};
    if (m.size() == sizeof other) std::memcpy(&other, m.data(), sizeof other);
    if (other.color == color) {
      ++ranks;
      before += other.key < key || (other.key == key && rank < c.rank);
    }
    ++rank;
  }
  return make(out, ranks, before, c.name + "-" + std::to_string(turn) + "-" + std::to_string(color));
}
/// A group that has ended keeps its name and rank: some are asked for them still.
VGPU_EXPORT int ncclCommDestroy(void* comm) {
  Communicator& c = communicator(comm);
  const std::lock_guard lock(c.mutex);
  return Memory::instance().release(std::exchange(c.buffers, nullptr));
}
VGPU_EXPORT int ncclCommAbort(void* comm) { return ncclCommDestroy(comm); }
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

VGPU_EXPORT int ncclAllGather(const void* from, void* to, size_t count, int type, void* comm, Handle) {
  Communicator& c = communicator(comm);
  const size_t n = bytes(count, type);
  return collective(c, from, n, to, n * static_cast<size_t>(c.ranks), [n](const auto& all) { return joined(all, n); });
}
VGPU_EXPORT int ncclGather(const void* from, void* to, size_t count, int type, int root, void* comm, Handle stream) {
  return ncclAllGather(from, root == communicator(comm).rank ? to : nullptr, count, type, comm, stream);
}
VGPU_EXPORT int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, Handle) {
  const size_t n = bytes(count, type);
  return collective(communicator(comm), from, n, to, n, [=](const auto& all) { return reduced(all, n, type, op); });
}
VGPU_EXPORT int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, void* comm,
                           Handle stream) {
  return ncclAllReduce(from, root == communicator(comm).rank ? to : nullptr, count, type, op, comm, stream);
}
VGPU_EXPORT int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, void* comm, Handle) {
  Communicator& c = communicator(comm);
  const size_t part = bytes(count, type), n = part * static_cast<size_t>(c.ranks);
  return collective(c, from, n, to, part,
                    [=, rank = c.rank](const auto& all) { return piece(reduced(all, n, type, op), rank, part); });
}
/// Each rank has a piece for each.
VGPU_EXPORT int ncclAlltoAll(const void* from, void* to, size_t count, int type, void* comm, Handle) {
  Communicator& c = communicator(comm);
  const size_t part = bytes(count, type), n = part * static_cast<size_t>(c.ranks);
  return collective(c, from, n, to, n, [part, rank = c.rank](std::vector<Bytes> all) {
    for (Bytes& b : all) b = piece(b, rank, part);
    return joined(all, part);
  });
}
VGPU_EXPORT int ncclScatter(const void* from, void* to, size_t count, int type, int root, void* comm, Handle) {
  Communicator& c = communicator(comm);
  const size_t part = bytes(count, type), n = part * static_cast<size_t>(c.ranks);
  return collective(c, root == c.rank ? from : nullptr, n, to, part,
                    [=, rank = c.rank](const auto& all) { return piece(all[static_cast<size_t>(root)], rank, part); });
}
VGPU_EXPORT int ncclGroupStart() {
  ++group().depth;
  return kSuccess;
}
VGPU_EXPORT int ncclGroupEnd() {
  Group& g = group();
  if (--g.depth > 0) return kSuccess;
  broadcast_alone(g);
  g.broadcasts.clear();
  return kSuccess;
}
VGPU_EXPORT int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* comm, Handle) {
  Communicator& c = communicator(comm);
  const size_t n = bytes(count, type);
  const bool mine = root == c.rank;
  if (const int error = connect(c)) return error;
  if (!c.name.empty())
    return collective(c, mine ? from : nullptr, n, to, n,
                      [root](const auto& all) { return all[static_cast<size_t>(root)]; });
  ncclGroupStart();
  group().broadcasts.push_back({from, to, n, mine});
  return ncclGroupEnd();
}
VGPU_EXPORT int ncclBcast(void* at, size_t n, int type, int root, void* c, Handle stream) {
  return ncclBroadcast(at, at, n, type, root, c, stream);
}
VGPU_EXPORT int ncclSend(const void* from, size_t count, int type, int to, void* comm, Handle) {
  Communicator& c = communicator(comm);
  if (const int error = connect(c)) return error;
  if (!c.name.empty() && bytes(count, type) <= kLargestNote)
    post(channel(c, c.rank) + "." + std::to_string(to), noted(from, bytes(count, type)));
  return kSuccess;
}
VGPU_EXPORT int ncclRecv(void* to, size_t count, int type, int from, void* comm, Handle) {
  Communicator& c = communicator(comm);
  const size_t n = bytes(count, type);
  if (const int error = connect(c)) return error;
  if (c.name.empty() || n > kLargestNote) {
    promise(to, n, [] { return Bytes{}; });
    return kSuccess;
  }
  const std::lock_guard lock(c.mutex);
  const auto name = channel(c, from) + "." + std::to_string(c.rank);
  promise(to, n, [name, letter = c.letters[from]++] { return message(name, letter).value_or(Bytes{}); });
  return kSuccess;
}
