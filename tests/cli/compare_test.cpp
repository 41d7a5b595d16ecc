// Two jobs side by side: differences add up, a setting alone does what an estimate says it does.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::run;

namespace {

const std::string kFirst = "--model gpt2 --gpu t4 --micro-batch 4 --seq 512";

std::int64_t used(const std::string& flags) {
  return json::parse(run("estimate " + flags + " --json").out).at("counters").at("device_used").get<std::int64_t>();
}

}  // namespace

TEST_CASE("each setting alone does what its own estimate says, and all of them with what they do together the whole") {
  const json j =
      json::parse(run("compare " + kFirst + " --segments 3 --json -- --checkpoint per-layer -b 8 --optimizer=sgd").out);
  const std::int64_t before = used(kFirst + " --segments 3");
  std::map<std::string, std::int64_t> alone;
  auto sum = j.at("together").get<std::int64_t>();
  for (const json& s : j.at("settings")) {
    alone[s.at("flag").get<std::string>()] = s.at("device_used").get<std::int64_t>();
    sum += s.at("device_used").get<std::int64_t>();
  }
  CHECK(alone.size() == 3);
  CHECK(alone["--checkpoint"] == used(kFirst + " --checkpoint per-layer") - before);
  CHECK(alone["--micro-batch"] == used("--model gpt2 --gpu t4 --micro-batch 8 --seq 512 --segments 3") - before);
  CHECK(alone["--optimizer"] == used(kFirst + " --segments 3 --optimizer sgd") - before);
  CHECK(sum == used("--model gpt2 --gpu t4 --micro-batch 8 --seq 512 --checkpoint per-layer --optimizer sgd") - before);
}

TEST_CASE("categories add up to device used on both sides") {
  const json j = json::parse(run("compare " + kFirst + " --json -- --precision amp-fp16 --clip 1").out);
  std::int64_t first = 0, second = 0;
  for (const json& c : j.at("categories")) {
    first += c.at("first").get<std::int64_t>();
    second += c.at("second").get<std::int64_t>();
    CHECK(c.at("difference") == c.at("second").get<std::int64_t>() - c.at("first").get<std::int64_t>());
  }
  for (const json& c : j.at("counters"))
    if (c.at("name") == "device_used") {
      CHECK(c.at("first") == first);
      CHECK(c.at("second") == second);
    }
}

TEST_CASE("documents are compared as files; a setting that cannot stand alone says why") {
  const std::string folder = std::string("/tmp/vramplan-compare-") + std::to_string(getpid());
  std::ofstream(folder + ".a") << run("estimate --model gpt2 --seq 1024 --json").out;
  std::ofstream(folder + ".b") << run("estimate --model llama-3.2-1b --seq 4096 --json").out;
  const json j = json::parse(run("compare " + folder + ".a " + folder + ".b --json").out);
  for (const char* end : {".a", ".b"}) std::remove((folder + end).c_str());
  for (const json& s : j.at("settings")) {
    if (s.at("flag") == "--model") CHECK(s.at("device_used") > 0);
    if (s.at("flag") == "--seq") {
      CHECK(s.at("device_used").is_null());
      CHECK(has(s.at("why_not").get<std::string>(), "longer than the 1024"));
    }
  }
  CHECK(j.at("first").at("job").at("flags").at("model") == "gpt2");
}

TEST_CASE("wrong comparisons") {
  CHECK(run("compare").status == 2);
  CHECK(run("compare a b c").status == 2);
  CHECK(has(run("compare " + kFirst + " -- --optimiser sgd").err, "did you mean 'optimizer'?"));
  CHECK(has(run("compare " + kFirst + " -- --optimizer").err, "the value is missing"));
  CHECK(run("compare /nonexistent /nonexistent").status == 3);
  CHECK(has(run("compare " + kFirst + " -- --seq 512").out, "The settings are the same"));
}
