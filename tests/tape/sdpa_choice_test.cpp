// The kernel that attention takes, against what PyTorch answered on cards of every compute capability.
#include "tape/sdpa_choice.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "backend/dry.h"
#include "tensor/memory.h"

using namespace vramplan;
using nlohmann::json;

namespace {

const json& sdpa_facts() {
  static const json all = json::parse(std::ifstream(TEST_ROOT "/data/sdpa_choice.json"));
  return all;
}

struct DryBench {
  DryBackend backend;
  Ledger ledger;
  Memory memory{backend, ledger};
};

char letter(SdpaKernel k) { return name_of(k)[0]; }

/// A call of the grid: 4 heads, a mask or a causal one.
struct Point {
  DType type;
  std::int64_t size;
  bool mask;
  double dropout;
  std::int64_t keys;
  bool grouped, gradient;
};

template <class F>
void for_each_point(F f) {
  const json& g = sdpa_facts().at("grid");
  for (const json& type : g.at("types"))
    for (const json& size : g.at("head_sizes"))
      for (const json& mask : g.at("masks"))
        for (const json& dropout : g.at("dropouts"))
          for (const json& keys : g.at("key_heads"))
            for (const json& gradient : g.at("gradients"))
              f(Point{*dtype_named(type.get<std::string>()), size.get<std::int64_t>(), mask.get<bool>(),
                      dropout.get<double>(), keys[0].get<std::int64_t>(), keys[1].get<bool>(), gradient.get<bool>()});
}

}  // namespace

TEST_CASE("the attention kernel is chosen as PyTorch chooses it, on every compute capability") {
  DryBench b;
  std::size_t checked = 0;
  for (const json& card : sdpa_facts().at("cards")) {
    const std::string letters = card.at("letters").get<std::string>();
    for (const json& capability : card.at("capabilities")) {
      const Device device{capability.get<int>(), 100};
      std::size_t i = 0;
      for_each_point([&](const Point& p) {
        auto tensor = [&](std::int64_t heads) { return b.memory.empty({2, heads, 64, p.size}, p.type, "x"); };
        const Tensor q = tensor(4), k = tensor(p.keys), v = tensor(p.keys);
        const Tensor mask = p.mask ? b.memory.empty({2, 1, 64, 64}, p.type, "mask") : Tensor();
        const SdpaArgs args{1, p.dropout, !p.mask, p.grouped, SdpaKernel::automatic};
        const SdpaChoice choice = choose_sdpa(device, {q, k, v, mask, args, p.gradient});
        INFO("sm_", device.compute_capability, " ", name_of(p.type), " head size ", p.size, " mask ", p.mask,
             " dropout ", p.dropout, " key heads ", p.keys, " grouped ", p.grouped, " gradient ", p.gradient, ": ",
             choice.passed_over);
        REQUIRE(letter(choice.kernel) == letters.at(i++));
        CHECK(choice.passed_over.empty() == (choice.kernel == SdpaKernel::flash || choice.kernel == SdpaKernel::cudnn));
      });
      REQUIRE(i == letters.size());
      checked += i;
    }
  }
  CHECK(checked == 13 * 2880);
}

TEST_CASE("a kernel asked for by name runs, or the reason why not is told") {
  DryBench b;
  auto x = [&](DType t, std::int64_t d) { return b.memory.empty({1, 2, 16, d}, t, "x"); };
  const Tensor wide = x(DType::fp32, 64), narrow = x(DType::bf16, 64), odd = x(DType::bf16, 60);
  const Tensor mask = b.memory.empty({1, 1, 16, 16}, DType::boolean, "mask");
  auto kernel = [&](int sm, const Tensor& t, const Tensor& m, SdpaKernel asked) {
    return choose_sdpa({sm, 108}, {t, t, t, m, SdpaArgs{1, 0, !m, false, asked}}).kernel;
  };
  CHECK(kernel(80, narrow, {}, SdpaKernel::flash) == SdpaKernel::flash);
  CHECK(kernel(90, narrow, {}, SdpaKernel::flash) == SdpaKernel::flash);
  CHECK(kernel(75, wide, mask, SdpaKernel::efficient) == SdpaKernel::efficient);
  CHECK(kernel(75, narrow, mask, SdpaKernel::math) == SdpaKernel::math);
  CHECK_THROWS_WITH(kernel(80, wide, {}, SdpaKernel::flash), doctest::Contains("fp32 is not a 16-bit type"));
  CHECK_THROWS_WITH(kernel(80, narrow, mask, SdpaKernel::flash), doctest::Contains("it takes no mask"));
  CHECK_THROWS_WITH(kernel(75, narrow, {}, SdpaKernel::flash),
                    doctest::Contains("it needs sm_80, and the card is sm_75"));
  CHECK_THROWS_WITH(kernel(75, narrow, {}, SdpaKernel::efficient), doctest::Contains("bf16 needs sm_80"));
  CHECK_THROWS_WITH(kernel(80, odd, {}, SdpaKernel::efficient), doctest::Contains("is no multiple of 8"));
}
