// Several processes, each a rank with a card of its own: what one uploads and gives to a collective the others read.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "virtualgpu/library.h"

using vramplan::test::call;

namespace {

constexpr int kRanks = 3, kInt64 = 4, kFloat = 7, kHalf = 6;
enum Operation { sum, product, largest, smallest, mean };

struct Id {
  char bytes[128];
};

std::string folder() { return std::getenv("VGPU_REPORT"); }

/// As PyTorch does through its store: the first rank makes the name, the others get it.
Id shared_id(int rank) {
  Id id{};
  const std::string path = folder() + "/id";
  if (rank == 0) {
    CHECK(call<int(void*)>("ncclGetUniqueId")(&id) == 0);
    std::ofstream(path + ".part").write(id.bytes, sizeof id.bytes);
    std::filesystem::rename(path + ".part", path);
  }
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::ifstream(path).read(id.bytes, sizeof id.bytes);
  return id;
}

/// Device memory with these numbers in it.
template <class T>
void* uploaded(const std::vector<T>& numbers) {
  void* at = nullptr;
  CHECK(call<int(void**, size_t)>("cudaMalloc")(&at, numbers.size() * sizeof(T)) == 0);
  CHECK(call<int(void*, const void*, size_t, int)>("cudaMemcpy")(at, numbers.data(), numbers.size() * sizeof(T), 1) ==
        0);
  return at;
}

template <class T>
std::vector<T> downloaded(const void* at, size_t n) {
  std::vector<T> numbers(n, T{77});
  CHECK(call<int(void*, const void*, size_t, int)>("cudaMemcpy")(numbers.data(), at, n * sizeof(T), 2) == 0);
  return numbers;
}

void* nothing(size_t numbers) {
  void* at = nullptr;
  CHECK(call<int(void**, size_t)>("cudaMalloc")(&at, numbers * 8) == 0);
  return at;
}

size_t used_here() {
  size_t free = 0, total = 0;
  CHECK(call<int(size_t*, size_t*)>("cudaMemGetInfo")(&free, &total) == 0);
  return total - free;
}

using Numbers = std::vector<std::int64_t>;

template <class... Arguments>
int nccl(const char* name, Arguments... arguments) {
  return call<int(Arguments..., void*)>(name)(arguments..., nullptr);
}

}  // namespace

TEST_CASE("a rank" * doctest::skip()) {  // what each process of the next case runs
  const char* const number = std::getenv("VGPU_TEST_RANK");
  REQUIRE(number);
  const int rank = std::atoi(number);
  void* all = nullptr;
  REQUIRE(call<int(void**, int, Id, int)>("ncclCommInitRank")(&all, kRanks, shared_id(rank), rank) == 0);
  const auto mine = static_cast<std::int64_t>(rank);

  void* const to = nothing(64);
  const void* from = uploaded(Numbers{10 + mine, 20 + mine});
  const size_t before_any = used_here();
  CHECK(nccl("ncclAllGather", from, to, size_t{2}, kInt64, all) == 0);
  CHECK(used_here() == before_any + (size_t{688} << 20));  // its buffers come with the first collective
  void* const copy = nothing(64);                          // a copy on the card of what has not come yet
  CHECK(call<int(void*, const void*, size_t, int)>("cudaMemcpy")(copy, to, 48, 3) == 0);
  CHECK(downloaded<std::int64_t>(copy, 6) == Numbers{10, 20, 11, 21, 12, 22});
  CHECK(downloaded<std::int64_t>(static_cast<char*>(copy) + 16, 2) == Numbers{11, 21});

  CHECK(nccl("ncclAllReduce", from, to, size_t{2}, kInt64, int{sum}, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 2) == Numbers{33, 63});
  CHECK(nccl("ncclAllReduce", from, to, size_t{2}, kInt64, int{largest}, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 2) == Numbers{12, 22});
  CHECK(nccl("ncclAllReduce", from, to, size_t{2}, kInt64, int{smallest}, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 2) == Numbers{10, 20});
  CHECK(nccl("ncclAllReduce", static_cast<const void*>(uploaded(std::vector<float>{1.5F * static_cast<float>(rank)})),
             to, size_t{1}, kFloat, int{mean}, all) == 0);
  CHECK(downloaded<float>(to, 1) == std::vector<float>{1.5F});
  CHECK(nccl("ncclAllReduce", from, to, size_t{4}, kHalf, int{sum}, all) == 0);  // not known: zeros
  CHECK(downloaded<std::int64_t>(to, 1) == Numbers{0});

  CHECK(nccl("ncclReduce", from, to, size_t{2}, kInt64, int{product}, 1, all) == 0);
  if (rank == 1) CHECK(downloaded<std::int64_t>(to, 2) == Numbers{10 * 11 * 12, 20 * 21 * 22});
  CHECK(nccl("ncclBroadcast", from, to, size_t{2}, kInt64, 2, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 2) == Numbers{12, 22});

  const void* const three = uploaded(Numbers{100 * mine, 100 * mine + 1, 100 * mine + 2});
  CHECK(nccl("ncclReduceScatter", three, to, size_t{1}, kInt64, int{sum}, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 1) == Numbers{300 + 3 * mine});
  CHECK(nccl("ncclAlltoAll", three, to, size_t{1}, kInt64, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 3) == Numbers{mine, 100 + mine, 200 + mine});
  CHECK(nccl("ncclScatter", three, to, size_t{1}, kInt64, 1, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 1) == Numbers{100 + mine});

  // Only one rank knows more than the first number: the others' are padded, as `all_gather_object` needs it.
  from = uploaded(rank == 1 ? Numbers{7, 8} : Numbers{7});
  CHECK(nccl("ncclAllGather", from, to, size_t{2}, kInt64, all) == 0);
  CHECK(downloaded<std::int64_t>(to, 6) == Numbers{7, 0, 7, 8, 7, 0});

  const int next = (rank + 1) % kRanks, before = (rank + kRanks - 1) % kRanks;
  for (const std::int64_t letter : {1, 2}) {
    CHECK(nccl("ncclSend", static_cast<const void*>(uploaded(Numbers{1000 * letter + mine})), size_t{1}, kInt64, next,
               all) == 0);
    CHECK(nccl("ncclRecv", to, size_t{1}, kInt64, before, all) == 0);
    CHECK(downloaded<std::int64_t>(to, 1) == Numbers{1000 * letter + before});
  }

  // Ranks 0 and 2 in the opposite order; rank 1 alone.
  void* some = nullptr;
  CHECK(call<int(void*, int, int, void**, void*)>("ncclCommSplit")(all, rank % 2, -rank, &some, nullptr) == 0);
  int ranks = 0, place = 0;
  CHECK(call<int(void*, int*)>("ncclCommCount")(some, &ranks) == 0);
  CHECK(call<int(void*, int*)>("ncclCommUserRank")(some, &place) == 0);
  CHECK(ranks == (rank == 1 ? 1 : 2));
  CHECK(place == (rank == 0 ? 1 : 0));
  CHECK(nccl("ncclAllGather", static_cast<const void*>(uploaded(Numbers{mine})), to, size_t{1}, kInt64, some) == 0);
  CHECK(downloaded<std::int64_t>(to, static_cast<size_t>(ranks)) == (rank == 1 ? Numbers{1} : Numbers{2, 0}));

  const size_t with_both = used_here();
  CHECK(call<int(void*)>("ncclCommDestroy")(all) == 0);
  CHECK(used_here() == with_both - (size_t{688} << 20));
  void* full = nullptr;  // a card without room for them
  CHECK(call<int(void**, size_t)>("cudaMalloc")(&full, (size_t{2} << 30) - used_here() - (size_t{32} << 20)) == 0);
  void* late = nullptr;
  REQUIRE(call<int(void**, int, Id, int)>("ncclCommInitRank")(&late, kRanks, Id{"another"}, rank) == 0);
  CHECK(nccl("ncclAllGather", from, to, size_t{1}, kInt64, late) == 1);
}

TEST_CASE("what ranks send one another arrives, in each collective and in its order") {
  char name[] = "/tmp/vramplan-ranks-XXXXXX";
  REQUIRE(mkdtemp(name));
  std::vector<pid_t> ranks;
  for (int r = 0; r < kRanks; ++r) {
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      setenv("VGPU_TEST_RANK", std::to_string(r).c_str(), 1);
      setenv("VGPU_REPORT", name, 1);
      setenv("VGPU_MEMORY", std::to_string(std::size_t{2} << 30).c_str(), 1);
      execl("/proc/self/exe", "test_virtualgpu", "--no-skip", "--test-case=a rank", static_cast<char*>(nullptr));
      _exit(127);
    }
    ranks.push_back(pid);
  }
  for (const pid_t pid : ranks) {
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  std::filesystem::remove_all(name);
}
