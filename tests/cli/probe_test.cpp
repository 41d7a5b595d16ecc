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
#ifndef __SANITIZE_ADDRESS__  // that keeps released memory aside, and surrounds what lives
  CHECK(std::abs(j.at("resident").get<std::int64_t>() - highest) < (12 << 20));
#endif
  CHECK(j.at("bitwise") == "equal");
  CHECK(j.at("self_test") == true);
  CHECK(j.at("agrees") == true);
}

TEST_CASE("the first line says what it ran on; what cannot be probed is refused") {
  const auto r = run("probe train --layers 2 --hidden 64 --heads 4 --vocab 128 --seq 16 --steps 1");
  CHECK(r.out.starts_with("no GPU backend: on the host\n"));
  CHECK(has(r.out, "equal to the byte"));
  const std::string sizes = " --layers 2 --hidden 64 --heads 4 --seq 16";
  CHECK(run("probe train --backend cuda" + sizes).status == 3);
  CHECK(run("probe train --backend tpu" + sizes).status == 2);
  CHECK(run("probe watch").status == 2);
  CHECK(run("probe").status == 2);
  CHECK(run("probe train --steps 0" + sizes).status == 2);
  const auto huge = run("probe train --model llama-3.1-405b --seq 128");
  CHECK(huge.status == 3);
  CHECK(has(huge.err, "the host has"));
}
