#include "virtualgpu/fatbin.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "virtualgpu/fat_binary.h"
#include "virtualgpu/library.h"

using vramplan::test::call;
using vramplan::test::FatBinary;
using vramplan::test::FatEntry;

namespace {

/// 0 where no code runs.
int compiled_for(FatBinary& fat, int card) {
  const auto code = virtualgpu::code_for(fat.wrapper(), card);
  return code ? code->compiled_for : 0;
}

}  // namespace

// CUDA programming guide, "Binary Compatibility" and "PTX Compatibility".
TEST_CASE("of a fat binary the driver takes the nearest code of the card's generation") {
  FatBinary pytorch({{75}, {80}, {86}, {90}, {100}, {120}});  // torch.cuda.get_arch_list() of PyTorch 2.15
  const std::map<int, int> taken{{60, 0},  {70, 0},    {75, 75},   {80, 80}, {86, 86},   {87, 86},  {89, 86},
                                 {90, 90}, {100, 100}, {103, 100}, {110, 0}, {120, 120}, {121, 120}};
  for (const auto& [card, code] : taken) {
    CAPTURE(card);
    CHECK(compiled_for(pytorch, card) == code);
  }
}

TEST_CASE("code of one card only, PTX, and what is no fat binary") {
  constexpr std::uint64_t kOneCardOnly = 0x108011, kFamily = 0x1208011;
  FatBinary special({{80}, {90, false, kOneCardOnly}, {103, false, kFamily}});
  CHECK(compiled_for(special, 90) == 90);
  CHECK(compiled_for(special, 91) == 0);
  CHECK(compiled_for(special, 89) == 80);
  CHECK(compiled_for(special, 100) == 0);
  CHECK(compiled_for(special, 103) == 103);
  FatBinary with_ptx({{90, true}, {80}, {70, true}});
  CHECK(compiled_for(with_ptx, 89) == 80);  // machine code is not compiled again
  CHECK(compiled_for(with_ptx, 75) == 70);
  const auto later = virtualgpu::code_for(with_ptx.wrapper(), 120);
  REQUIRE(later);
  CHECK(later->compiled_for == 90);
  CHECK(later->runs_on == 120);
  FatBinary empty({});
  CHECK(compiled_for(empty, 80) == 0);
  const char other[24] = "something else";
  for (const void* p : {static_cast<const void*>(other), static_cast<const void*>(nullptr)})
    CHECK(virtualgpu::code_for(p, 89)->compiled_for == 89);
}

TEST_CASE("a kernel answers for its code, and cannot be launched where none runs") {
  static FatBinary runs({{80}, {86}, {90}}), does_not({{100}, {120}});
  static int here = 0, nowhere = 0;
  const auto add = call<void**(void*)>("__cudaRegisterFatBinary");
  const auto add_kernel = call<void(void**, const void*, char*, const char*, int, void*, void*, void*, void*, int*)>(
      "__cudaRegisterFunction");
  const auto kernel_of = [&](FatBinary& fat, int* function) {
    add_kernel(add(fat.wrapper()), function, nullptr, "k", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  kernel_of(runs, &here);
  kernel_of(does_not, &nowhere);
  const auto attributes = call<int(void*, const void*)>("cudaFuncGetAttributes");
  const auto last_error = call<int()>("cudaGetLastError");
  int out[36] = {};  // cudaFuncAttributes: ptxVersion at 32, binaryVersion at 36
  CHECK(attributes(out, &here) == 0);
  CHECK(out[8] == 90);
  CHECK(out[9] == 90);
  CHECK(attributes(out, &nowhere) == 209);
  last_error();
  struct Dim3 {
    unsigned x, y, z;
  };
  const auto launch = call<int(const void*, Dim3, Dim3, void**, std::size_t, void*)>("cudaLaunchKernel");
  const auto launches = call<std::size_t()>("vgpu_launches");
  const std::size_t before = launches();
  CHECK(launch(&here, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) == 0);
  CHECK(launches() == before + 1);
  CHECK(launch(&nowhere, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) == 209);
  CHECK(launches() == before + 1);
  CHECK(last_error() == 209);
  CHECK(std::string(call<const char*(int)>("cudaGetErrorString")(209)) ==
        "no kernel image is available for execution on the device");
}
