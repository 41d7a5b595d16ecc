// Markdown: the same bytes as the JSON, and nothing of the user's that a renderer would read as Markdown.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::run;

TEST_CASE("every counter and category of the JSON stands in the tables") {
  const std::string job = "estimate --model gpt2 --gpu t4 --micro-batch 4 --seq 512 ";
  const std::string md = run(job + "--md").out;
  const json j = json::parse(run(job + "--json").out);
  for (const auto& [name, bytes] : j.at("counters").items()) CHECK(has(md, " | " + bytes.dump() + " |"));
  for (const auto& [name, bytes] : j.at("peak").at("categories").items())
    if (bytes != 0) CHECK(has(md, "| " + name + " | "));
  for (const json& p : j.at("phases")) CHECK(has(md, " | " + p.at("peak").dump() + " |"));
  CHECK(has(md, "vramplan estimate --model gpt2 --gpu t4 --micro-batch 4 --seq 512 --md"));
}

TEST_CASE("a hostile name stays a name") {
  const std::string name = "/tmp/a|b_<script>`x`.json";
  std::ofstream(name) << R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4})";
  const std::string md = run("estimate --config '" + name + "' --seq 64 --md").out;
  std::remove(name.c_str());
  CHECK(has(md, R"(/tmp/a\|b\_\<script\>\`x\`.json)"));
  CHECK(has(md, "```sh\nvramplan estimate --config '/tmp/a|b_<script>`x`.json'"));
}

TEST_CASE("units of the table: the same bytes, and an unknown one suggests") {
  const std::string job = "estimate --model gpt2 --gpu t4 --micro-batch 4 --seq 512 ";
  const json j = json::parse(run(job + "--json").out);
  const double used = j.at("counters").at("device_used").get<double>();
  char text[64];
  for (const auto& [unit, size] : {std::pair{"GiB", 1073741824.0}, {"GB", 1e9}, {"MiB", 1048576.0}}) {
    std::snprintf(text, sizeof text, "needs %.2f %s of", used / size, unit);
    const std::string table = run(job + "--units " + unit).out;
    CHECK(has(table, text));
    for (const char* other : {" GiB  ", " MiB  ", " KiB  ", " GB  "})
      CHECK(has(table, other) == (std::string(" ") + unit + "  " == other));
  }
  CHECK(has(run(job + "--units Gib").err, "did you mean 'GiB'?"));
  CHECK(has(run(job + "-v").out, "--micro-batch"));
}
