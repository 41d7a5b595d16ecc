// The probe as users call it, in a process of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::run;

TEST_CASE("the process grows by what the ledger says, within a few MB") {
  const auto r =
      run("probe train --layers 2 --hidden 64 --heads 4 --vocab 16384 --micro-batch 1 --seq 16 --precision fp32 "
          "--segments 2 "
          "--steps 1 --self-test --json");
  CHECK(r.status == 0);
  const json j = json::parse(r.out);
  std::int64_t highest = 0;
  for (const json& phase : j.at("phases")) highest = std::max(highest, phase.at("ledger").get<std::int64_t>());
  CHECK(highest > (32 << 20));
#ifndef VRAMPLAN_SANITIZED  // that keeps released memory aside, and surrounds what lives
  CHECK(std::abs(j.at("resident").get<std::int64_t>() - highest) < (12 << 20));
#endif
  CHECK(j.at("bitwise") == "equal");
  CHECK(j.at("self_test") == true);
  CHECK(j.at("agrees") == true);
}

TEST_CASE("the first line says what it ran on; what cannot be probed is refused") {
  const std::string nowhere = "env PROBE_STAND_IN_CUDA=/nonexistent.so ";
  const auto r = run("probe train --layers 2 --hidden 64 --heads 4 --vocab 128 --seq 16 --steps 1", "", nowhere);
  CHECK(r.out.starts_with("no GPU (no CUDA driver here: /nonexistent.so"));
  CHECK(has(r.out, "equal to the byte"));
  const std::string sizes = " --layers 2 --hidden 64 --heads 4 --seq 16";
  CHECK(run("probe train --backend cuda" + sizes, "", nowhere).status == 3);
  CHECK(run("probe train --backend tpu" + sizes).status == 2);
  CHECK(run("probe train --gemm mkl" + sizes).status == 2);
  CHECK(run("probe train --backend dry --vocab 128" + sizes).out.starts_with("predicted: custom nowhere"));
  CHECK(has(run("probe train --backend cudda" + sizes).err, "cuda"));
  CHECK(run("probe train --backend host --write x.json" + sizes).status == 2);
  CHECK(has(run("probe wach -- true").err, "did you mean 'watch'"));
  CHECK(run("probe train -- true").status == 2);
  CHECK(run("probe watch").status == 2);
  CHECK(run("probe").status == 2);
  CHECK(run("probe train --steps 0" + sizes).status == 2);
  const auto huge = run("probe train --model llama-3.1-405b --seq 128", "", nowhere);
  CHECK(huge.status == 3);
  CHECK(has(huge.err, "the host has"));
}

TEST_CASE("on a card: its allocator beside the simulation, what is in no ledger, and a file for estimates") {
  const std::string driver = "env PROBE_STAND_IN_CUDA=" STAND_IN_CUDA " PROBE_STAND_IN_NVRTC=" STAND_IN_CUDA
                             " PROBE_STAND_IN_NVML=" STAND_IN_NVML " STAND_IN_TABLE=/tmp/vramplan-probe-table ";
  const std::string file = "/tmp/vramplan-probe-calibration.json",
                    job = "probe train --layers 2 --hidden 64 --heads 4 --vocab 128 --seq 16 --segments 2 --steps 1";
  const auto r = run(job + " --json --write " + file, "", driver);
  REQUIRE(r.status == 0);
  vramplan::test::check_document(r.out);
  const json j = json::parse(r.out);
  CHECK(j.at("backend") == "cuda");
  CHECK(j.at("bitwise") == "equal");
  CHECK(j.at("card").at("by_process") == true);
  CHECK(j.at("card").at("context_bytes") == 304 << 20);
  CHECK(j.at("phases").at(0).at("card").at("process") ==
        j.at("phases").at(0).at("card").at("device_used"));  // alone on it
  CHECK(j.at("phases").at(0).at("card").at("reserved") == j.at("phases").at(0).at("card").at("predicted_reserved"));
  const auto e = run("estimate --model gpt2 --gpu t4 --seq 64 --json --calibration " + file);
  REQUIRE(e.status == 0);
  const json estimated = json::parse(e.out);
  for (const json& row : estimated.at("tree").at("children"))
    if (row.at("name") == "[cuda context]") CHECK(row.at("bytes") == 304 << 20);
  // Of a card that the catalogue knows: the share of its bandwidth, and with cuBLAS that of its products.
  REQUIRE(run(job + " --gemm cublas --write " + file, "",
              driver + "PROBE_STAND_IN_CUBLAS=" STAND_IN_CUDA " STAND_IN_NAME='NVIDIA A100-SXM4-80GB' ")
              .status == 0);
  const json rates = json::parse(vramplan::test::slurp(file));
  for (const char* what : {"memory", "matrix"}) {
    CHECK(rates.at("efficiency").at(what).get<double>() > 0);
    CHECK(rates.at("efficiency").at(what).get<double>() < 0.1);  // a CPU plays it
  }
  CHECK(rates.at("measured").at(0).at("products_by") == "cublas");
  const std::string on_a100 = "estimate --model gpt2 --gpu a100-sxm4-80gb --seq 64 --json";
  const auto slow = run(on_a100 + " --calibration " + file), stated = run(on_a100);
  CHECK(slow.status == 0);
  CHECK(json::parse(slow.out).at("time").at("step").get<double>() >
        10 * json::parse(stated.out).at("time").at("step").get<double>());
  CHECK(has(run(job, "", driver).out, "Not in the ledger:"));
  const auto full = run("probe train --model gpt2 --micro-batch 8 --seq 1024", "", driver);
  CHECK(full.status == 1);
  CHECK(has(full.err, "720.00 MiB of 1.00 GiB are free"));
  std::remove(file.c_str());
}

TEST_CASE("what is for a card is refused where none is used") {
  const std::string job = "probe train --layers 1 --hidden 64 --heads 2 --vocab 100 --seq 8 --backend host ";
  for (const char* flag : {"--gemm cublas", "--device 1", "--write /tmp/never.json"}) {
    CAPTURE(flag);
    const auto r = run(job + flag);
    CHECK(r.status == 2);
    CHECK(has(r.err, "is for a card"));
  }
}
