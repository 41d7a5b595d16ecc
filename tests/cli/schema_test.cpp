// Every document of the program is one of its schema; the checker can tell when it is not.
#include <doctest/doctest.h>

#include "program.h"
#include "read/data.h"

using namespace vramplan;
using nlohmann::json;
using vramplan::test::run;
using vramplan::test::Schema;

namespace {

const std::string kSchemaJob = " --model gpt2 --gpu t4 --micro-batch 2 --seq 128 ";

/// A command for each kind of document.
std::map<std::string, std::vector<std::string>> commands() {
  return {
      {"estimate",
       {"estimate" + kSchemaJob + "--json", "estimate" + kSchemaJob + "--segments 3 --advise --allocator-map --json",
        "estimate --model llama-3.1-8b --gpu t4 --seq 512 --lora r=8,save=lm_head --quant nf4 --json",
        "estimate --model llama-3.1-8b --seq 512 --precision mixed-bf16 --offload optimizer --clip 1 --json",
        "estimate --config " TEST_ROOT "/../data/models/gpt2/config.json --gpu a100-80gb --mig 3g.40gb --seq 64 "
        "--json"}},
      {"plan",
       {"plan" + kSchemaJob + "--json", "plan --model gpt2 --gpu t4 --seq 128 --max micro-batch --json",
        "plan" + kSchemaJob + "--smallest gpu --price t4=0.3 --json",
        "plan --model llama-3.1-70b --gpu t4 --seq 64 --json"}},
      {"sweep", {"plan" + kSchemaJob + "--sweep segments=1,12,13 --json"}},
      {"sheet", {"sheet --model gpt2 --seq 64 --gpus t4,h100-sxm --json"}},
      {"curve", {"curve" + kSchemaJob + "--json"}},
      {"compare", {"compare" + kSchemaJob + "--json -- --checkpoint per-layer"}},
      {"explain", {"explain" + kSchemaJob + "--segments 3 --json"}},
      {"timeline", {"timeline" + kSchemaJob + "--json"}},
      {"probe",
       {"probe train --layers 2 --hidden 64 --heads 4 --vocab 99 --seq 32 --backend dry --json",
        "probe train --layers 2 --hidden 64 --heads 4 --vocab 99 --seq 32 --segments 2 --self-test --json"}},
      {"validate", {"validate " TEST_ROOT "/golden/variations.jsonl --json"}},
      {"gpus", {"gpus --json"}},
      {"gpu", {"gpus show t4 --json"}},
      {"models", {"models --json"}},
      {"origins", {"estimate" + kSchemaJob + "--show-origin --json"}},
      {"error", {"estimate --json", "estimate --nonsense --json", "validate /nonexistent --json"}}};
}

}  // namespace

TEST_CASE("each document is of its kind, and run() finds it to be one of its schema") {
  for (const auto& [kind, examples] : commands())
    for (const std::string& command : examples) {
      CAPTURE(command);
      const json document = json::parse(run(command).out, nullptr, false);
      REQUIRE(document.is_object());
      CHECK(document.at("kind") == kind);
    }
}

TEST_CASE("every document has a schema, every schema a document here or in the tests of rehearsals and probes") {
  const auto known = commands();
  for (const std::string& name : documents_with_schema()) {
    CAPTURE(name);
    CHECK((known.count(name) == 1 || name == "job" || name == "rehearsal" || name == "device" || name == "watch" ||
           name == "overhead"));
    CHECK(json::parse(run("schema " + name).out).at("$id") == name + ".schema.json");
  }
  CHECK(documents_with_schema().size() >= known.size() + 2);
  CHECK(run("schema estimat").status == 2);
}

TEST_CASE("the schema of job files has every flag of a job, and nothing else") {
  const json properties = json::parse(run("schema flags").out).at("properties");
  const json all = json::parse(run("estimate" + kSchemaJob + "--show-origin --json").out).at("settings");
  for (const json& s : all) CHECK(properties.contains(s.at("flag").get<std::string>().substr(2)));
  CHECK(properties.size() == all.size());
}

TEST_CASE("the checker tells what is missing, unknown, of another type, or not described") {
  const Schema schema("error.schema.json");
  const json good{{"schema_version", 1},
                  {"kind", "error"},
                  {"error", {{"code", 2}, {"message", "m"}, {"where", ""}, {"hint", ""}}}};
  CHECK(schema.breaches(good).empty());
  const auto breaks = [&](const char* path, const json& value) {
    json bad = good;
    bad[json::json_pointer(path)] = value;
    return schema.breaches(bad).size() == 1;
  };
  CHECK(breaks("/error/code", "2"));
  CHECK(breaks("/error/code", 2.5));
  CHECK(breaks("/kind", "errors"));
  CHECK(breaks("/error/new", 1));
  json bad = good;
  bad.at("error").erase("hint");
  CHECK(schema.breaches(bad).size() == 1);
}
