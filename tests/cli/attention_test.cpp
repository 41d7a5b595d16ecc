// Which attention kernel a card takes, and what is usual on cards before sm_80, as a user sees it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using namespace vramplan::test;
using nlohmann::json;

namespace {

json estimate_of(const std::string& flags) {
  return json::parse(run("estimate --json --model gpt2 --micro-batch 4 --seq 1024 " + flags).out);
}

std::string kernel(const std::string& flags) {
  const json kernels = estimate_of(flags).at("attention_kernels");
  REQUIRE(kernels.size() == 1);
  return kernels[0].at("name").get<std::string>();
}

}  // namespace

TEST_CASE("the kernel follows the card, and the text says which and why") {
  CHECK(kernel("--gpu a100-80gb") == "flash");
  CHECK(kernel("--gpu h100-sxm --dropout 0") == "cuDNN");
  CHECK(kernel("--gpu rtx-5090") == "flash");
  CHECK(kernel("--gpu t4") == "efficient");
  CHECK(kernel("--gpu t4 --precision bf16") == "math");
  CHECK(kernel("--gpu a100-80gb --precision fp32") == "efficient");
  CHECK(estimate_of("--gpu a100-80gb --attention eager").at("attention_kernels").empty());
  const std::string text = run("estimate --model gpt2 --micro-batch 4 --seq 1024 --gpu t4 --precision bf16").out;
  CHECK(has(text, ", attention sdpa: math, checkpoint none"));
  CHECK(has(text, "flash: it needs sm_80, and the card is sm_75; efficient: bf16 needs sm_80"));
}

TEST_CASE("bf16 on a T4 is counted with the math kernel: 10.35 GiB, as PyTorch 2.15 counted on sm_75") {
  const double gib = 1 << 30;
  const json counters = estimate_of("--gpu t4 --precision bf16").at("counters");
  CHECK(counters.at("allocated").get<double>() / gib == doctest::Approx(10.35).epsilon(0.001));
}

TEST_CASE("a card without bf16 arithmetic is trained in fp16 under autocast unless the job says otherwise") {
  const json usual = estimate_of("--gpu t4"), asked = estimate_of("--gpu t4 --precision amp-fp16");
  CHECK(usual.at("counters") == asked.at("counters"));
  CHECK(has(usual.at("assumptions").dump(), "fp16 under autocast over fp32 weights, for Tesla T4 has no bf16"));
  CHECK(estimate_of("--gpu a100-80gb").at("counters") ==
        estimate_of("--gpu a100-80gb --precision bf16").at("counters"));
}

TEST_CASE("a kernel asked for that cannot run is an error that says why") {
  for (const auto& [flags, why] :
       {std::pair{"--model gpt2 --seq 512 --precision fp32 --gpu a100-80gb", "fp32 is not a 16-bit type"},
        {"--model mistral-7b-v0.1 --gpu a100-80gb --seq 8192", "it takes no mask"},
        {"--model gpt2 --seq 512 --gpu t4", "it needs sm_80, and the card is sm_75"}}) {
    const Result r = run(std::string("estimate --attention flash ") + flags);
    CAPTURE(flags);
    CHECK(r.status == 2);
    CHECK(has(r.err, "no available kernel: " + std::string(why)));
  }
}

TEST_CASE("searches pass over cards without the kernel; cards that PyTorch has left are said to be so") {
  const json plan = json::parse(run("plan --json --model gpt2 --seq 1024 --attention flash --smallest gpu").out);
  CHECK_FALSE(plan.at("answer").is_null());
  CHECK_FALSE(has(plan.dump(), "tesla-t4"));
  CHECK(has(estimate_of("--gpu v100-sxm2-16gb").at("warnings").dump(), "no kernels for sm_70"));
  CHECK_FALSE(has(estimate_of("--gpu t4").at("warnings").dump(), "no kernels"));
}
