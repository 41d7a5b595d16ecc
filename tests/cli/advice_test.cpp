// Advice is honest: the flags it prints, given to the program, save what it said they would.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "program.h"

using nlohmann::json;
using vramplan::test::run;

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& text) {
  std::istringstream in(text);
  Words out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

/// Takes a flag and its value, if it has one, out of a command line.
void drop(Words& line, const std::string& flag) {
  const auto at = std::find(line.begin(), line.end(), flag);
  if (at == line.end()) return;
  const bool value = at + 1 != line.end() && !(at + 1)->starts_with("--");
  line.erase(at, at + (value ? 2 : 1));
}

/// The command line with the flags of an advice: those replace what stood there.
std::string with(Words line, const std::string& advice) {
  const Words change = words_of(advice);
  for (std::size_t i = 0; i < change.size(); ++i) {
    if (change[i] == "without") {
      drop(line, change[++i]);
      continue;
    }
    if (change[i].starts_with("--")) drop(line, change[i]);
    if (change[i] == "--checkpoint") drop(line, "--segments");
    if (change[i] == "--gpu") drop(line, "--gpu-memory");
    line.push_back(change[i]);
  }
  std::string out;
  for (const std::string& w : line) out += w + " ";
  return out;
}

void check_one(const Words& line, const json& advice, std::int64_t before) {
  const std::string command = with(line, advice.at("flags").get<std::string>());
  CAPTURE(command);
  const json after = json::parse(run(command).out);
  REQUIRE(after.contains("counters"));
  CHECK(after.at("counters").at("device_used") == advice.at("device_used"));
  CHECK(before - after.at("counters").at("device_used").get<std::int64_t>() == advice.at("saved"));
  CHECK(after.at("verdict") == advice.at("verdict"));
}

}  // namespace

TEST_CASE("every lever, card and set gives what it says") {
  std::size_t checked = 0, sets = 0, cards = 0;
  for (const char* text :
       {"--model llama-3.1-8b --gpu a100-80gb --seq 8192",
        "--model gpt2-xl --gpu rtx-4090 --micro-batch 8 --seq 1024 "
        "--precision amp-bf16 --attention eager --keeps-output --optimizer-form fused",
        "--model qwen2.5-0.5b --gpu rtx-3090 --micro-batch 4 --seq 4096 --segments 4",
        "--model llama-3.2-1b --gpu t4 --seq 2048 --lora r=16,targets=all-linear --micro-batch 2",
        "--model smollm2-135m --gpu-memory 8GiB --micro-batch 16 --seq 2048 --ddp copies --optimizer adam",
        "--layers 6 --hidden 512 --heads 8 --gpu-memory 3GiB --seq 512 --micro-batch 8 --attention eager "
        "--use-cache"}) {
    CAPTURE(text);
    const Words line = words_of(std::string("estimate --json --advise ") + text);
    const json e = json::parse(run(with(line, "")).out);
    const auto before = e.at("counters").at("device_used").get<std::int64_t>();
    const Words plain = words_of(std::string("estimate --json ") + text);
    const json& advice = e.at("advice");
    auto all = advice.at("levers").get<std::vector<json>>();
    CHECK(all.size() >= 3);
    for (const json& c : advice.at("cards")) all.push_back(c), ++cards;
    if (!advice.at("set").is_null()) all.push_back(advice.at("set")), ++sets;
    for (const json& a : all) check_one(plain, a, before), ++checked;
  }
  CHECK(checked > 40);
  CHECK(sets >= 1);
  CHECK(cards >= 3);
}

TEST_CASE("what cannot help is said with the reason") {
  const json e =
      json::parse(run("estimate --json --advise --model llama-3.1-8b --gpu a100-80gb --seq 512 --micro-batch 1").out);
  bool accumulation = false, hidden = false;
  for (const json& reason : e.at("advice").at("in_vain")) {
    const auto line = reason.get<std::string>();
    accumulation = accumulation || line.find("accumulation") != std::string::npos;
    hidden = hidden || line.find("the peak is then in optimizer") != std::string::npos;
  }
  CHECK(accumulation);
  CHECK(hidden);
}
