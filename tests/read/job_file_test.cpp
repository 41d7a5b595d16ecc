// Job files as people and programs write them, and as nobody should: an answer or a UserError, never anything else.
#include "read/job_file.h"

#include <doctest/doctest.h>

#include "random.h"
#include "read/named_file.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

std::string value_of(const JobFile& f, const std::string& flag) {
  for (const GivenFlag& g : f.flags)
    if (g.flag == flag) return g.value;
  return "(none)";
}

constexpr const char* kTexts[]{
    R"({"model": "gpt2", "micro_batch": 4, "--seq": "8Ki", "amsgrad": true, "lora": null, "clip": 0.5,
        "config": {"file": "a/config.json", "content": {"model_type": "gpt2"}}})",
    R"({"schema_version": 1, "kind": "estimate", "verdict": "fits", "job": {"flags": {"model": "gpt2", "seq": "64"}}})",
    R"({"output_dir": "o", "per_device_train_batch_size": 2, "optim": "adamw_8bit", "fp16": true, "max_length": 512,
        "gradient_checkpointing": true, "gradient_checkpointing_kwargs": {"use_reentrant": false}, "fsdp": []})"};

}  // namespace

TEST_CASE("names of flags with dashes, underscores or none; values of every type; a file as an object") {
  const JobFile f = read_job_file(kTexts[0], "job.json");
  CHECK(f.flags.size() == 6);
  CHECK(value_of(f, "--micro-batch") == "4");
  CHECK(value_of(f, "--seq") == "8Ki");
  CHECK(value_of(f, "--amsgrad") == "true");
  CHECK(value_of(f, "--clip") == "0.5");
  CHECK(value_of(f, "--lora") == "(none)");
  const NamedFile config = read_named(value_of(f, "--config"));
  CHECK(config.name == "a/config.json");
  CHECK(config.content == R"({"model_type":"gpt2"})");
  for (const GivenFlag& g : f.flags) CHECK(g.origin == "job.json");
}

TEST_CASE("a document's flags; TrainingArguments with transformers' defaults") {
  CHECK(value_of(read_job_file(kTexts[1], "out.json"), "--seq") == "64");
  const JobFile args = read_job_file(kTexts[2], "args.json");
  CHECK(value_of(args, "--precision") == "amp-fp16");
  CHECK(value_of(args, "--optimizer") == "adamw8bit");
  CHECK(value_of(args, "--fp32-embedding-states") == "true");
  CHECK(value_of(args, "--checkpoint") == "per-layer");
  CHECK(value_of(args, "--reentrant") == "(none)");
  CHECK(value_of(args, "--clip") == "1");
  CHECK(value_of(args, "--weight-decay") == "0");
}

TEST_CASE("what is carried reads back") {
  const NamedFile file{"dir/with \"quotes\".json", R"({"a": [1, 2.5, "x"], "b": null})"};
  const NamedFile back = read_named(carried(file));
  CHECK(back.name == file.name);
  CHECK(back.content == R"({"a":[1,2.5,"x"],"b":null})");
  CHECK_THROWS_AS(carried({"x", "no JSON"}), UserError);
}

TEST_CASE("fuzz: mutated texts are read or refused") {
  vramplan::test::Random random(3);
  int refused = 0;
  constexpr int kRounds = 3000;
  for (int i = 0; i < kRounds; ++i) {
    std::string text = kTexts[random() % 3];
    for (std::uint32_t n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 5);
      else
        text[at] = static_cast<char>(random() % 256);
      if (text.empty()) text = "x";
    }
    try {
      for (const GivenFlag& g : read_job_file(text, "fuzz").flags) CHECK(g.flag.starts_with("--"));
    } catch (const UserError& e) {
      ++refused;
      CHECK_FALSE(std::string(e.what()).empty());
    }
  }
  CHECK(refused > kRounds / 4);
  CHECK(refused < kRounds);
}
