// Every key of TrainingArguments is read, harmless, warned of, or refused; and many keys cost little.
#include "read/training_keys.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>

#include "read/job_file.h"
#include "read/json_object.h"
#include "read/model_config.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

JobFile read_args(const std::string& more) {
  return read_job_file(fmt::format(R"({{"output_dir": "o", "per_device_train_batch_size": 2, "max_length": 64{}{}}})",
                                   more.empty() ? "" : ", ", more),
                       "args.json");
}

std::string given(const JobFile& f, const std::string& flag) {
  for (const GivenFlag& g : f.flags)
    if (g.flag == flag) return g.value;
  return "";
}

bool warned(const JobFile& f, const std::string& part) {
  for (const std::string& w : f.warnings)
    if (w.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a key that changes memory is an error that names it and the next step, unless it is off") {
  for (const char* key :
       {"use_peft", "load_in_4bit", "quantization", "torch_compile", "packing", "train_mode", "every_n_layers",
        "neftune_noise_alpha", "attn_implementation", "dtype", "lora_rank", "padding_free"}) {
    CAPTURE(key);
    try {
      read_args(fmt::format(R"("{}": "x")", key));
      FAIL("taken");
    } catch (const UserError& e) {
      CHECK(std::string(e.what()).find(key) != std::string::npos);
      CHECK(e.where.find(key) != std::string::npos);
      CHECK_FALSE(e.hint.empty());
    }
    for (const char* off : {"false", "null", "\"\"", "0"})
      CHECK_NOTHROW(read_args(fmt::format(R"("{}": {})", key, off)));
  }
  CHECK_NOTHROW(read_args(R"("use_peft": false, "lora_r": 16, "lora_alpha": 32)"));
  CHECK_THROWS_AS(read_args(R"("use_peft": true, "lora_r": 16)"), UserError);
  CHECK_NOTHROW(read_args(R"("half_precision_backend": "auto", "fp16_opt_level": "O1")"));
}

TEST_CASE("keys that are not read are warned of by name") {
  CHECK(warned(read_args(R"("my_own_key": 3)"), "$.my_own_key: the key is not known"));
  CHECK(warned(read_args(R"("per_device_eval_batch_size": 64)"), "per_device_eval_batch_size"));
  CHECK(warned(read_args(R"("bf16_full_eval": true)"), "bf16_full_eval"));
  CHECK(warned(read_args(R"("use_liger_kernel": true)"), "use_liger_kernel"));
  CHECK_FALSE(warned(read_args(R"("logging_steps": 10, "seed": 1, "learning_rate": 1e-4)"), "$."));
}

TEST_CASE("checkpointing under both its names: transformers 5.24's wins, every n-th layer from the first") {
  CHECK(given(read_args(R"("activation_checkpointing": true)"), "--checkpoint") == "per-layer");
  const JobFile f = read_args(
      R"("activation_checkpointing": true, "activation_checkpointing_kwargs": {"every_n_layers": 3, "offload": true})");
  CHECK(given(f, "--checkpoint") == "every:3");
  CHECK(given(f, "--offload") == "boundaries");
  CHECK(given(f, "--reentrant").empty());
  CHECK(
      given(read_args(R"("activation_checkpointing": false, "gradient_checkpointing": true)"), "--checkpoint").empty());
  CHECK(warned(read_args(R"("gradient_checkpointing": true, "gradient_checkpointing_kwargs": {"odd": 1})"), "odd"));
  CHECK_THROWS_AS(
      read_args(R"("gradient_checkpointing": true, "gradient_checkpointing_kwargs": {"every_n_layers": 0})"),
      UserError);
}

TEST_CASE("the table is sorted and without doubles, so that every key is found") {
  for (const char* key : {"activation_checkpointing", "weight_decay", "output_dir", "use_vllm"})
    CHECK(training_key(key));
  CHECK_FALSE(training_key("no_such_key"));
}

TEST_CASE("40,000 unknown keys take time that grows with their number alone") {
  const auto seconds = [](int n) {
    std::string text =
        R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 64)";
    for (int i = 0; i < n; ++i) text += fmt::format(R"(, "zz{}": 1)", i);
    text += "}";
    const auto start = std::chrono::steady_clock::now();
    CHECK(read_model_config(text, "config.json").warnings.size() == static_cast<std::size_t>(n));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CHECK(seconds(40000) < 5);  // a second on a slow, busy machine; quadratic, it took twelve on a fast one
}

TEST_CASE("the parser is strict, and makes what was written") {
  const auto j = parse_json(R"({"b": [1, -2, 2.5, "x", null, true, {"c": []}], "a": {}})", "x");
  CHECK(j.dump() == R"({"b":[1,-2,2.5,"x",null,true,{"c":[]}],"a":{}})");
  CHECK(parse_json("3", "x") == 3);
  for (const char* bad :
       {"", "{", "[1,]", R"({"a": 1, "a": 2})", R"({"a": {"b": 1, "b": 1}})", "1e999", "{} {}", "nul"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_json(bad, "x"), UserError);
  }
}
