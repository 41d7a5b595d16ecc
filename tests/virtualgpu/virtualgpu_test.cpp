#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "random.h"
#include "virtualgpu/library.h"

using vramplan::test::call;

namespace {

constexpr size_t kMiB = size_t{1} << 20, kGiB = size_t{1} << 30, kContext = 64 * kMiB;

int allocate(void** p, size_t n) { return call<int(void**, size_t)>("cudaMalloc")(p, n); }
int release(void* p) { return call<int(void*)>("cudaFree")(p); }
int use_card(int d) { return call<int(int)>("cudaSetDevice")(d); }
size_t used() {
  size_t free = 0, total = 0;
  call<int(size_t*, size_t*)>("cudaMemGetInfo")(&free, &total);
  CHECK(total == kGiB);
  return total - free;
}
int copy(void* to, const void* from, size_t n) {
  return call<int(void*, const void*, size_t, int)>("cudaMemcpy")(to, from, n, 4);
}

}  // namespace

TEST_CASE("memory is counted in pages of 2 MiB, on each card for itself") {
  int cards = 0;
  CHECK(call<int(int*)>("cudaGetDeviceCount")(&cards) == 0);
  CHECK(cards == 2);
  CHECK(used() == kContext);
  void *a = nullptr, *b = nullptr;
  CHECK(allocate(&a, 1) == 0);
  CHECK(used() == kContext + 2 * kMiB);
  CHECK(use_card(1) == 0);
  CHECK(used() == kContext);
  CHECK(allocate(&b, 5 * kMiB) == 0);
  CHECK(used() == kContext + 6 * kMiB);
  CHECK(release(a) == 0);  // whichever card is current
  CHECK(release(b) == 0);
  CHECK(used() == kContext);
  CHECK(use_card(0) == 0);
  CHECK(used() == kContext);
  CHECK(use_card(2) == 101);
  CHECK(release(nullptr) == 0);
  CHECK(release(&cards) == 1);
}

TEST_CASE("a card that is full says so, as the runtime does, and can be used again") {
  void *a = nullptr, *b = nullptr;
  CHECK(allocate(&a, kGiB) == 2);  // the context is there already
  CHECK(a == nullptr);
  CHECK(allocate(&a, kGiB - kContext) == 0);
  CHECK(allocate(&b, 1) == 2);
  CHECK(call<int()>("cudaGetLastError")() == 2);
  CHECK(call<int()>("cudaGetLastError")() == 0);
  CHECK(std::string(call<const char*(int)>("cudaGetErrorString")(2)) == "out of memory");
  CHECK(allocate(&b, ~size_t{0}) == 2);
  CHECK(release(a) == 0);
  CHECK(allocate(&b, 1) == 0);
  CHECK(release(b) == 0);
}

TEST_CASE("whatever is asked in whatever order, nothing overlaps and everything comes back") {
  vramplan::test::Random random(3);
  std::map<char*, size_t> live;
  size_t sum = 0;
  for (int i = 0; i < 4000; ++i) {
    if (!live.empty() && random() % 2) {
      auto it = live.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(random() % live.size()));
      CHECK(release(it->first) == 0);
      sum -= it->second;
      live.erase(it);
    } else {
      const size_t n = 1 + random() % (40 * kMiB), pages = (n + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB;
      void* p = nullptr;
      if (allocate(&p, n) != 0) {
        CHECK(kContext + sum + pages > kGiB);
        continue;
      }
      const auto next = live.upper_bound(static_cast<char*>(p));
      if (next != live.end()) CHECK(static_cast<char*>(p) + pages <= next->first);
      if (next != live.begin()) CHECK(std::prev(next)->first + std::prev(next)->second <= static_cast<char*>(p));
      live[static_cast<char*>(p)] = pages;
      sum += pages;
    }
    CHECK(used() == kContext + sum);
  }
  for (const auto& [p, n] : live) CHECK(release(p) == 0);
  CHECK(used() == kContext);
}

TEST_CASE("several threads allocate at once") {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        void* p = nullptr;
        if (allocate(&p, kMiB) == 0) release(p);
      }
    });
  threads.clear();
  CHECK(used() == kContext);
}

TEST_CASE("expandable segments: addresses without memory, memory without addresses") {
  std::uint64_t address = 0, handle = 0;
  size_t granularity = 0;
  CHECK(call<int(size_t*, const void*, int)>("cuMemGetAllocationGranularity")(&granularity, nullptr, 0) == 0);
  CHECK(granularity == 2 * kMiB);
  const auto reserve =
      call<int(std::uint64_t*, size_t, size_t, std::uint64_t, unsigned long long)>("cuMemAddressReserve");
  CHECK(reserve(&address, 4 * kGiB, 0, 0, 0) == 0);  // more than the card has
  CHECK(used() == kContext);
  unsigned char properties[32] = {};
  properties[12] = 1;  // CUmemAllocationProp.location.id
  const auto create = call<int(std::uint64_t*, size_t, const void*, unsigned long long)>("cuMemCreate");
  CHECK(create(&handle, 20 * kMiB, properties, 0) == 0);
  CHECK(used() == kContext);
  CHECK(use_card(1) == 0);
  CHECK(used() == kContext + 20 * kMiB);
  std::uint64_t more = 0;
  CHECK(create(&more, kGiB, properties, 0) == 2);
  CHECK(call<int(std::uint64_t)>("cuMemRelease")(handle) == 0);
  CHECK(call<int(std::uint64_t)>("cuMemRelease")(handle) == 1);
  CHECK(used() == kContext);
  CHECK(use_card(0) == 0);
  CHECK(call<int(std::uint64_t, size_t)>("cuMemAddressFree")(address, 4 * kGiB) == 0);
}

TEST_CASE("copies among host memory are done; from the card come zeros") {
  char from[8] = "seven..", to[8] = "";
  CHECK(copy(to, from, 8) == 0);
  CHECK(std::strcmp(to, from) == 0);
  void* card = nullptr;
  CHECK(allocate(&card, 8) == 0);
  CHECK(copy(card, from, 8) == 0);
  CHECK(copy(to, card, 8) == 0);
  for (const char c : to) CHECK(c == 0);
  CHECK(call<int(void*, int, size_t)>("cudaMemset")(to, 7, 8) == 0);
  CHECK(to[7] == 7);
  CHECK(call<int(void*, int, size_t)>("cudaMemset")(card, 7, 8) == 0);  // must not be touched
  unsigned char attributes[24];
  const auto ask = call<int(void*, const void*)>("cudaPointerGetAttributes");
  ask(attributes, card);
  CHECK(attributes[0] == 2);
  ask(attributes, to);
  CHECK(attributes[0] == 0);
  void* pinned = nullptr;
  CHECK(call<int(void**, size_t)>("cudaMallocHost")(&pinned, 64) == 0);
  ask(attributes, static_cast<char*>(pinned) + 63);
  CHECK(attributes[0] == 1);
  CHECK(call<int(void*)>("cudaFreeHost")(pinned) == 0);
  CHECK(release(card) == 0);
}

TEST_CASE("ranks find what they sent: uploads are noted once there is a communicator") {
  void *communicator = nullptr, *mine = nullptr, *all = nullptr;
  struct Id {
    char bytes[128];
  };
  CHECK(call<int(void**, int, Id, int)>("ncclCommInitRank")(&communicator, 2, Id{}, 1) == 0);
  CHECK(allocate(&mine, 8) == 0);
  CHECK(allocate(&all, 16) == 0);
  const std::int64_t sent = 42;
  std::int64_t seen[2] = {};
  copy(mine, &sent, 8);
  constexpr int kInt64 = 4;
  CHECK(call<int(const void*, void*, size_t, int, void*, void*)>("ncclAllGather")(mine, all, 1, kInt64, communicator,
                                                                                  nullptr) == 0);
  copy(seen, all, 16);
  CHECK(seen[0] == 42);
  CHECK(seen[1] == 42);
  copy(seen, mine, 8);  // nothing but a collective makes a value readable
  CHECK(seen[0] == 0);
  release(mine);
  release(all);
}

TEST_CASE("handles differ, captures are remembered, a launch hands its shape on") {
  std::set<void*> handles;
  for (int i = 0; i < 10; ++i) {
    void* h = nullptr;
    call<int(void**)>(i % 2 ? "cudaStreamCreate" : "cublasCreate_v2")(&h);
    CHECK(handles.insert(h).second);
  }
  void* const stream = *handles.begin();
  int status = 9;
  const auto capturing = call<int(void*, int*)>("cudaStreamIsCapturing");
  capturing(stream, &status);
  CHECK(status == 0);
  call<int(void*, int)>("cudaStreamBeginCapture")(stream, 0);
  capturing(stream, &status);
  CHECK(status == 1);
  void* graph = nullptr;
  call<int(void*, void**)>("cudaStreamEndCapture")(stream, &graph);
  capturing(stream, &status);
  CHECK(status == 0);
  struct Dim3 {
    unsigned x, y, z;
  };
  Dim3 grid{}, block{};
  size_t shared = 0;
  void* on = nullptr;
  call<unsigned(Dim3, Dim3, size_t, void*)>("__cudaPushCallConfiguration")({1, 2, 3}, {4, 5, 6}, 7, stream);
  call<int(Dim3*, Dim3*, size_t*, void*)>("__cudaPopCallConfiguration")(&grid, &block, &shared, &on);
  CHECK(grid.z == 3);
  CHECK(block.x == 4);
  CHECK(shared == 7);
  CHECK(on == stream);
}

// Places of the parameters: cusolverDn.h of CUDA 13.0.
TEST_CASE("libraries ask for no workspace, and nothing beside their answer is written") {
  int count[3] = {7, 7, 7};
  CHECK(call<int(void*, int, int, float*, int, int*)>("cusolverDnSgeqrf_bufferSize")(nullptr, 4, 4, nullptr, 4,
                                                                                     &count[1]) == 0);
  CHECK(count[0] == 7);
  CHECK(count[1] == 0);
  CHECK(count[2] == 7);
  count[1] = 7;
  call<int(void*, int, int, int, int, double*, int, double*, double*, int, double*, int, int*, void*)>(
      "cusolverDnDgesvdj_bufferSize")(nullptr, 0, 0, 4, 4, nullptr, 4, nullptr, nullptr, 4, nullptr, 4, &count[1],
                                      nullptr);
  CHECK(count[1] == 0);
  CHECK(count[2] == 7);
  size_t card = 7, host = 7;
  call<int(void*, void*, int, std::int64_t, int, const void*, std::int64_t, int, size_t*, size_t*)>(
      "cusolverDnXpotrf_bufferSize")(nullptr, nullptr, 0, 4, 0, nullptr, 4, 0, &card, &host);
  CHECK(card == 0);
  CHECK(host == 0);
}

TEST_CASE("calls are found by name, the newest form first; an unknown one is said to be unknown") {
  void* f = nullptr;
  const auto find = call<int(const char*, void**, int, std::uint64_t, int*)>("cuGetProcAddress_v2");
  CHECK(find("cuMemGetInfo", &f, 12000, 0, nullptr) == 0);
  CHECK(f == dlsym(vramplan::test::virtual_gpu(), "cuMemGetInfo_v2"));
  int found = 7;
  CHECK(find("cuSomethingOfTheFuture", &f, 12000, 0, &found) == 500);
  CHECK(f == nullptr);
  CHECK(found == 1);
  const auto entry = call<int(const char*, void**, unsigned long long, int*)>("cudaGetDriverEntryPoint");
  CHECK(entry("cuSomethingOfTheFuture", &f, 0, &found) == 0);
  CHECK(f == nullptr);
}

TEST_CASE("the management library tells each card's memory") {
  void* device = nullptr;
  std::uint64_t memory[3] = {};
  CHECK(call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2")(1, &device) == 0);
  CHECK(call<int(void*, void*)>("nvmlDeviceGetMemoryInfo")(device, memory) == 0);
  CHECK(memory[0] == kGiB);
  CHECK(memory[2] == kContext);
  CHECK(call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2")(2, &device) != 0);
}

// Offsets as offsetof gives them with the headers of CUDA 12.4 and 13.0.
TEST_CASE("properties stand where CUDA 12 and 13 look for them") {
  struct Fact {
    const char* field;
    size_t cuda12, cuda13;
    std::uint64_t value;
    size_t size;
  };
  const Fact facts[] = {{"totalGlobalMem", 288, 288, kGiB, 8},
                        {"regsPerBlock", 304, 304, 65536, 4},
                        {"warpSize", 308, 308, 32, 4},
                        {"maxThreadsPerBlock", 320, 320, 1024, 4},
                        {"maxThreadsDim[2]", 332, 332, 64, 4},
                        {"maxGridSize[0]", 336, 336, 2147483647, 4},
                        {"major", 360, 360, 9, 4},
                        {"minor", 364, 364, 0, 4},
                        {"multiProcessorCount", 388, 384, 132, 4},
                        {"unifiedAddressing", 604, 588, 1, 4},
                        {"memoryBusWidth", 612, 592, 6144, 4},
                        {"l2CacheSize", 616, 596, 52428800, 4},
                        {"maxThreadsPerMultiProcessor", 624, 604, 2048, 4},
                        {"sharedMemPerMultiprocessor", 640, 624, 233472, 8},
                        {"regsPerMultiprocessor", 648, 632, 65536, 4},
                        {"sharedMemPerBlockOptin", 696, 672, 232448, 8},
                        {"maxBlocksPerMultiProcessor", 712, 688, 32, 4},
                        {"reservedSharedMemPerBlock", 720, 696, 1024, 8}};
  for (const bool cuda13 : {false, true}) {
    std::vector<unsigned char> p(cuda13 ? 1008 + 64 : 1032 + 64, 0xAB);
    CHECK(call<int(void*, int)>(cuda13 ? "cudaGetDeviceProperties" : "cudaGetDeviceProperties_v2")(p.data(), 1) == 0);
    CHECK(std::string(reinterpret_cast<const char*>(p.data())) == "A card of tests");
    for (const Fact& f : facts) {
      CAPTURE(f.field);
      std::uint64_t value = 0;
      std::memcpy(&value, p.data() + (cuda13 ? f.cuda13 : f.cuda12), f.size);
      CHECK(value == f.value);
    }
    for (size_t i = p.size() - 64; i < p.size(); ++i) CHECK(p[i] == 0xAB);  // nothing is written behind it
  }
}

TEST_CASE("a process that never called CUDA leaves no report") {
  const auto folder = std::filesystem::temp_directory_path() / "vramplan-virtualgpu-test";
  std::filesystem::create_directories(folder);
  const std::string program = "LD_PRELOAD=" VIRTUALGPU_LIBRARY " VGPU_MEMORY=1000 VGPU_REPORT=" + folder.string();
  CHECK(std::system((program + " true").c_str()) == 0);
  CHECK(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}
