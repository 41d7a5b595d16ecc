// A table of jobs: order, labels, errors in their rows, and the same numbers as one estimate gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "program.h"
#include "random.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::lines_of;
using vramplan::test::run;

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

namespace {

/// A job that can be run, its words taken by chance.
std::string random_row(vramplan::test::Random& random, int id) {
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  return std::to_string(id) + "," + std::to_string(1 + random() % 3) + "," + std::to_string(64 << random() % 2) + "," +
         one_of({"2", "4"}) + "," + one_of({"1", "2", "3"}) + "," + one_of({"16", "48", "64"}) + "," +
         one_of({"fp32", "bf16", "amp-bf16", "amp-fp16", "mixed-bf16", ""}) + "," +
         one_of({"adamw", "sgd", "adafactor", "lion8bit", "muon", ""}) + "," +
         one_of({"none", "per-layer", "sequential:1", ""}) + "," + one_of({"sdpa", "eager", "math", ""}) + "," +
         one_of({"t4", "rtx-4090", "h100-sxm", ""}) + "," + one_of({"causal", "plain", "chunked:2", ""});
}

constexpr const char* kHeader =
    "id,layers,hidden,heads,micro-batch,seq,precision,optimizer,checkpoint,attention,gpu,loss\n";

}  // namespace

TEST_CASE("random jobs all come out, in their order") {
  vramplan::test::Random random(7);
  constexpr int kRows = 1000;
  std::string in = kHeader;
  for (int i = 0; i < kRows; ++i) in += random_row(random, i) + "\n";
  const auto r = run("batch - --jsonl", in);
  CHECK(r.status == 0);
  const auto lines = lines_of(r.out);
  REQUIRE(lines.size() == kRows);
  for (int i = 0; i < kRows; ++i) {
    const json row = json::parse(lines[static_cast<std::size_t>(i)]);
    CHECK(row.at("id") == std::to_string(i));
    CHECK(row.at("error").is_null());
    CHECK(row.at("device_used_bytes").get<std::int64_t>() > 0);
  }
}

TEST_CASE("mutated rows: no crash, an answer or an error in each, and whole lines") {
  vramplan::test::Random random(11);
  constexpr int kRows = 1000;
  std::string in = kHeader;
  for (int i = 0; i < kRows; ++i) {
    std::string row = random_row(random, i);
    for (std::uint32_t n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = row.find(',') + 1 + random() % (row.size() - row.find(',') - 1);
      if (random() % 3 == 0)
        row.erase(at, 1);
      else
        row[at] = static_cast<char>(32 + random() % 224);
    }
    std::replace(row.begin(), row.end(), '"', '\'');  // a quote may swallow the rows behind it
    in += row + "\n";
  }
  const auto r = run("batch - --jsonl", in);
  CHECK((r.status == 0 || r.status == 3));
  const auto lines = lines_of(r.out);
  CHECK(lines.size() == kRows);
  std::size_t failed = 0;
  for (const std::string& line : lines) {
    const json row = json::parse(line);
    const bool answered = row.at("error").is_null();
    failed += !answered;
    CHECK(answered == !row.at("device_used_bytes").is_null());
  }
  CHECK(failed > kRows / 3);
  CHECK(failed < kRows);
}
