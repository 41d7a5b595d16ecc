// One refusal, wherever a value comes from and whoever asks; checks of nothing fail; documents read back.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "program.h"
#include "read/data.h"
#include "render/json.h"
#include "vramplan/hardware/card.h"

using nlohmann::ordered_json;
using vramplan::test::has;
using vramplan::test::run;
using namespace vramplan;

namespace {

struct Written {
  explicit Written(const std::string& text) {
    char name[] = "/tmp/vramplan-refused-XXXXXX";
    close(mkstemp(name));
    path = name;
    std::ofstream(path) << text;
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { std::filesystem::remove(path); }
  std::string path;
};

}  // namespace

TEST_CASE("a number outside its range is refused from flags, a job file, the environment and rows of a table") {
  struct Bad {
    const char *flag, *variable, *value;
  };
  for (const Bad& b : {Bad{"seq", "SEQ", "64.9"},
                       {"seq", "SEQ", "1.024"},
                       {"micro-batch", "MICRO_BATCH", "3.99"},
                       {"micro-batch", "MICRO_BATCH", "0"},
                       {"dropout", "DROPOUT", "2"},
                       {"dropout", "DROPOUT", "-1"},
                       {"clip", "CLIP", "-1"},
                       {"weight-decay", "WEIGHT_DECAY", "-1e308"},
                       {"weight-decay", "WEIGHT_DECAY", "inf"},
                       {"clip", "CLIP", "nan"},
                       {"accumulate", "ACCUMULATE", "0"}}) {
    CAPTURE(b.flag);
    CAPTURE(b.value);
    const std::string flag(b.flag), value(b.value), length = flag == "seq" ? "" : " --seq 32";
    for (const char* command : {"estimate", "timeline", "curve", "explain", "plan --max micro-batch --gpu t4"}) {
      if (std::string(command).starts_with("plan") && flag == "micro-batch") continue;
      CAPTURE(command);
      CHECK(run(std::string(command) + " --model gpt2" + length + " --" + flag + "=" + value).status == 2);
    }
    const Written job(ordered_json{{"model", "gpt2"}, {"seq", "32"}}.dump());
    CHECK(run("estimate --model gpt2" + length, "", "env VRAMPLAN_" + std::string(b.variable) + "=" + value + " ")
              .status == 2);
    const bool is_number = value != "inf" && value != "nan";
    ordered_json row{{"model", "gpt2"}, {"seq", 32}};
    row[flag] = is_number ? ordered_json::parse(value) : ordered_json(value);
    const Written file(row.dump());
    CHECK(run("estimate --job " + file.path).status == 2);
    const auto rows = run("batch - --jsonl", row.dump() + "\n");
    CHECK(rows.status == 3);
    CHECK_FALSE(ordered_json::parse(rows.out).at("error").is_null());
  }
}

TEST_CASE("a check of nothing does not pass") {
  const Written empty(""), header("model,seq\n"), list("[]\n"), blank("\n\n");
  for (const std::string& arguments : std::vector<std::string>{
           "validate /tmp", "validate " + empty.path, "validate " + blank.path, "batch " + empty.path,
           "batch " + header.path, "batch " + list.path, "batch --json " + list.path, "models --data-dir /tmp",
           "models --data-dir /tmp --json"}) {
    CAPTURE(arguments);
    const auto r = run(arguments);
    CHECK(r.status == 3);
    CHECK(has(r.err + r.out, "no") == true);
  }
}

TEST_CASE("what 'gpus --json' prints is given back as --gpu-file: the same card, for every card") {
  const auto cards = all_cards(Data().gpus());
  const auto back = own_cards(cards_json(cards), "gpus.json");
  REQUIRE(back.size() == cards.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Card &a = cards[i], &b = back[i];
    CAPTURE(a.id);
    CHECK(std::tie(a.id, a.name, a.vendor, a.architecture, a.category, a.launch_year, a.custom, a.note) ==
          std::tie(b.id, b.name, b.vendor, b.architecture, b.category, b.launch_year, b.custom, b.note));
    CHECK(std::tie(a.compute_capability, a.multiprocessors, a.nominal, a.driver_total, a.driver_basis, a.usable,
                   a.usable_basis) == std::tie(b.compute_capability, b.multiprocessors, b.nominal, b.driver_total,
                                               b.driver_basis, b.usable, b.usable_basis));
    CHECK(std::tie(a.bandwidth_gbs, a.l2, a.bus_bits, a.clock_mhz, a.tflops.fp32, a.tflops.fp16, a.tflops.bf16,
                   a.tflops.int8) == std::tie(b.bandwidth_gbs, b.l2, b.bus_bits, b.clock_mhz, b.tflops.fp32,
                                              b.tflops.fp16, b.tflops.bf16, b.tflops.int8));
  }
  const Written file(cards_json({find_card(Data().gpus(), "t4")}));
  const auto named = run("estimate --model gpt2 --seq 64 --gpu t4 --json"),
             own = run("estimate --model gpt2 --seq 64 --gpu tesla-t4 --gpu-file " + file.path + " --json");
  REQUIRE(own.status == 0);
  const auto x = ordered_json::parse(named.out), y = ordered_json::parse(own.out);
  for (const char* part : {"capacity", "counters", "time"}) CHECK(x.at(part) == y.at(part));
}

TEST_CASE("cards of other makers: their words, low confidence, nothing that only CUDA has") {
  for (const char* gpu :
       {"mi250", "mi300x", "apple-m4-max-64gb", "gpu-max-1550", "ascend-910b", "mlu370-x8", "mtt-s4000"}) {
    CAPTURE(gpu);
    const std::string job = std::string("estimate --model gpt2-xl --seq 1024 -b 64 --advise --gpu ") + gpu;
    for (const char* form : {"", " --md"}) {
      CAPTURE(form);
      const auto r = run(job + form);
      CHECK(r.status == 1);
      CHECK(has(r.out, "not validated on this vendor"));
      for (const char* nvidias : {"[cuda context]", "[cublas workspace]", "cuBLAS", "nvidia-smi", "max_memory_reserved",
                                  "8bit", "bnb", "PYTORCH_ALLOC_CONF", "CUDA context"}) {
        CAPTURE(nvidias);
        CHECK_FALSE(has(r.out, nvidias));
      }
    }
    CHECK(ordered_json::parse(run(job + " --json").out).at("confidence") == "low");
  }
  CHECK(has(run("estimate --model gpt2 --seq 64 --gpu t4").out, "[cuda context]"));
}

TEST_CASE("mixed precision updates without foreach's copy, and says so") {
  const std::string job = "estimate --model gpt2-medium --seq 16 --precision ";
  const auto r = run(job + "mixed-bf16"), foreach = run(job + "mixed-bf16 --optimizer-form foreach");
  CHECK(has(r.out, "adamw (fused)"));
  CHECK(has(r.out, "in its fused form, as Apex, DeepSpeed and Megatron"));
  CHECK_FALSE(has(foreach.out, "in its fused form"));
  const auto peak = [&](const std::string& more) {
    return ordered_json::parse(run(job + more + " --json").out).at("counters").at("allocated").get<std::int64_t>();
  };
  CHECK(peak("mixed-bf16") == peak("mixed-bf16 --optimizer-form fused"));
  CHECK(peak("mixed-bf16") < peak("mixed-bf16 --optimizer-form foreach"));
  CHECK(has(run(job + "amp-bf16").out, "adamw (foreach)"));
}
