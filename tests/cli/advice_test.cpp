// Advice is honest: the flags it prints, given to the program, save what it said they would.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// "1.5 GiB" after `before`, in GiB.
double gib_after(const std::string& text, const std::string& before) {
  const auto at = text.find(before);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + before.size()));
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

TEST_CASE("frozen weights in 4 bits are tried with adapters, and rows have no advice") {
  const std::string job = "estimate --model llama-3.1-8b --gpu rtx-3060-12gb --seq 1024 ";
  const json advice = json::parse(run(job + "--json").out).at("advice");
  CHECK(says(advice.at("set").at("flags").get<std::string>(), "--quant nf4"));
  for (const char* row : {"--csv", "--flat", "-q"}) {
    const auto plain = run(job + row), asked = run(job + row + " --advise");
    CHECK(plain.out == asked.out);
    CHECK(plain.status == asked.status);
  }
}

TEST_CASE("what nothing makes fit is said once, with the least number of cards by bytes") {
  const std::string job = "estimate --model llama-3.1-8b --gpu-memory 2GiB --seq 256 ";
  const json e = json::parse(run(job + "--json").out);
  CHECK(e.at("advice").at("set").is_null());
  const auto first = e.at("advice").at("in_vain").at(0).get<std::string>();
  CHECK(says(first, "makes it fit on this card"));
  const double bytes =
      3 * 2 * e.at("model").at("parameters").get<double>() + 2 * e.at("model").at("parameters").get<double>();
  const double room = e.at("counters").at("capacity").get<double>() - 0.6 * 1073741824.0;
  CHECK(gib_after(first, "at least ") == doctest::Approx(std::ceil(bytes / room)));
  for (const char* form : {"", "--md", "--html -"}) CHECK(says(run(job + form).out, "makes it fit on this card"));
}

TEST_CASE("a headline says the need, then what the allocator adds, then the cure that was run") {
  const std::string job = "estimate --model gpt2 --gpu-memory 1.9GiB --seq 512 ";
  const json e = json::parse(run(job + "--json").out);
  REQUIRE(e.at("verdict") == "does not fit");
  const double gib = 1073741824.0, used = e.at("counters").at("device_used").get<double>() / gib;
  const double gaps =
      (e.at("counters").at("reserved").get<double>() - e.at("counters").at("allocated").get<double>()) / gib;
  const std::string table = run(job).out;
  CHECK(gib_after(table, "does not fit: needs ") == doctest::Approx(used - gaps).epsilon(0.01));
  CHECK(gib_after(table, ", and ") == doctest::Approx(gaps).epsilon(0.03));
  CHECK(gib_after(table, "allocator's gaps, ") == doctest::Approx(used).epsilon(0.01));
  CHECK(run(job + "--allocator expandable --json").status == 0);
  for (const char* form : {"", "--md", "--html -"}) {
    CHECK(says(run(job + form).out, " with --allocator expandable (PYTORCH"));
    CHECK(says(run(job + form).out, "gaps, "));
    CHECK_FALSE(says(run(job + "--allocator expandable " + form).out, "with --allocator expandable"));
  }
}

TEST_CASE("the allocator of other makers' cards is not spoken of in the headline") {
  const std::string table = run("estimate --model llama-3.1-8b --gpu instinct-mi250 --seq 8192").out;
  REQUIRE(says(table, "does not fit: needs "));
  CHECK_FALSE(says(table, "gaps"));
}

TEST_CASE("the line of a job names the attention that was asked for") {
  CHECK(says(run("estimate --model gpt2 --gpu t4 --seq 128 --attention eager").out, "attention eager, "));
  CHECK(says(run("estimate --model gpt2 --gpu h100-sxm --seq 128").out, "attention sdpa: "));
}
