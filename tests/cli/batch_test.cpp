// A table of jobs: order, labels, errors in their rows, and the same numbers as one estimate gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::run;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string l; std::getline(in, l);) out.push_back(l);
  return out;
}

}  // namespace

TEST_CASE("a thousand rows come out in their order, bad ones with the reason") {
  std::string in = "id,model,gpu,seq,micro-batch,checkpoint\n";
  for (int i = 0; i < 1000; ++i)
    in += std::to_string(i) + ",smollm2-135m," + (i % 10 == 3 ? "t44" : "t4") + ",64," + std::to_string(1 + i % 7) +
          (i % 2 ? ",per-layer\n" : ",\n");
  const auto r = run("batch - --jsonl", in);
  CHECK(r.status == 3);
  CHECK(has(r.err, "100 of 1000 rows failed"));
  const auto lines = lines_of(r.out);
  REQUIRE(lines.size() == 1000);
  for (int i = 0; i < 1000; ++i) {
    const json j = json::parse(lines[static_cast<std::size_t>(i)]);
    CHECK(j.at("row") == i + 1);
    CHECK(j.at("id") == std::to_string(i));
    CHECK(j.at("error").is_null() == (i % 10 != 3));
    if (i % 10 != 3) CHECK(j.at("micro_batch") == 1 + i % 7);
  }
  CHECK(has(lines[3], "did you mean") == false);
  CHECK(has(lines[3], "is not in the catalogue"));
}

TEST_CASE("the numbers of a row are those of the estimate, in every format") {
  const std::string job = R"({"name": "=x", "model": "gpt2", "gpu": "rtx-3090", "seq": 512, "micro_batch": 2, )"
                          R"("precision": "amp-bf16", "reentrant": true, "checkpoint": "per-layer"})";
  const json row = json::parse(run("batch - --json", "[" + job + "]").out).at(0);
  const json one =
      json::parse(run("estimate --model gpt2 --gpu rtx-3090 --seq 512 --micro-batch 2 --precision amp-bf16 --reentrant "
                      "--checkpoint per-layer --json")
                      .out);
  CHECK(row.at("device_used_bytes") == one.at("counters").at("device_used"));
  CHECK(row.at("allocated_bytes") == one.at("counters").at("allocated"));
  CHECK(row.at("held_bytes") == one.at("held"));
  CHECK(row.at("verdict") == one.at("verdict"));
  for (const auto& [name, bytes] : one.at("peak").at("categories").items()) {
    std::string column = name;
    std::replace(column.begin(), column.end(), ' ', '_');
    CHECK(row.at("at_peak_" + column + "_bytes") == bytes);
  }
  const auto csv = lines_of(run("batch -", job).out);
  REQUIRE(csv.size() == 2);
  CHECK(csv[1].starts_with("1,,'=x,gpt2,geforce-rtx-3090,2,512,"));  // no spreadsheet runs it
  CHECK(has(csv[1], row.at("device_used_bytes").dump()));
  const json flat = json::parse(run("estimate --model gpt2 --gpu rtx-3090 --seq 512 --micro-batch 2 --precision "
                                    "amp-bf16 --reentrant --checkpoint per-layer --flat")
                                    .out);
  for (const auto& [name, value] : flat.items()) CHECK(row.at(name) == value);
}

TEST_CASE("what is no table of jobs is refused") {
  for (const char* bad : {"", "model,sequ\n", "model,model\n"}) {
    CAPTURE(bad);
    const auto r = run("batch -", bad);
    CHECK(r.status >= 2);
    CHECK(has(r.err, "vramplan:"));
    CHECK(r.out.empty());
  }
  CHECK(run("batch /no/such/file.csv").status == 3);
  CHECK(run("batch").status == 2);
}
