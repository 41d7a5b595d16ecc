// The program as users call it: streams, exit statuses, errors with the next step.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "program.h"

using vramplan::test::has;
using vramplan::test::Result;
using vramplan::test::run;
using vramplan::test::slurp;

TEST_CASE("the issue's three questions") {
  const Result a = run("estimate --model llama-3.1-8b --gpu a100-80gb --micro-batch 1 --seq 8192 --segments 32");
  CHECK(a.status == 0);
  CHECK(a.out.starts_with("tight: needs "));  // it fits, but only because the allocator gives cached memory back
  CHECK(run("estimate --model llama-3.1-8b --gpu a100-80gb --micro-batch 1 --seq 8192 --segments 32 --allocator "
            "expandable")
            .out.starts_with("fits: needs "));
  CHECK(a.err.empty());
  const Result b = run("estimate --config - --gpu \"RTX 3090\" --micro-batch 4 --seq 2048 --json",
                       slurp(TEST_ROOT "/../data/models/llama-3.2-1b/config.json"));
  const auto j = nlohmann::json::parse(b.out);
  CHECK(j.at("schema_version") == 1);
  CHECK(b.status == (j.at("verdict") == "does not fit" ? 1 : 0));
  CHECK(j.at("model").at("parameters") == 1235814400);
  const Result c = run("estimate --layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512 --segments 10");
  CHECK(c.status == 0);
  CHECK(has(c.out, "no card given"));
}

TEST_CASE("JSON is one document with bytes as integers and the promised names") {
  const Result r = run("estimate --model gpt2 --gpu 4090 --seq 1024 --micro-batch 2 --segments 4 --json");
  const auto j = nlohmann::json::parse(r.out);
  for (const char* key : {"verdict", "margin", "counters", "model", "held", "phases", "peak", "without_checkpointing",
                          "recompute", "assumptions", "warnings", "job"})
    CHECK(j.contains(key));
  for (const char* key : {"allocated", "reserved", "device_used", "capacity"})
    CHECK(j.at("counters").at(key).is_number_integer());
  CHECK(j.at("held").is_number_integer());
  CHECK(j.at("peak").at("tensors").size() == 10);
  CHECK(j.at("job").at("run").at("checkpoint") == "segments:4");
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : j.at("peak").at("categories").items()) sum += bytes.get<std::uint64_t>();
  CHECK(sum == j.at("peak").at("bytes"));
}

TEST_CASE("adapters: the published shape of a QLoRA-style job, unquantised") {
  // 28 layers of qwen2.5-7b: q 3584 -> 3584 and v 3584 -> 512 at rank 8 make 2,523,136 trainable numbers.
  const Result r = run("estimate --model qwen2.5-7b --seq 2048 --lora r=8,targets=q_proj+v_proj --json");
  const auto j = nlohmann::json::parse(r.out);
  CHECK(j.at("model").at("trainable") == 2523136);
  CHECK(j.at("model").at("parameters") == 7618139648);
  CHECK(j.at("job").at("run").at("lora").at("r") == 8);
  // peft's rsLoRA: alpha over the root of the rank. It scales numbers, no byte.
  const auto scaled = nlohmann::json::parse(
      run("estimate --model qwen2.5-7b --seq 2048 --lora r=16,targets=q_proj+v_proj,alpha=8,rslora --json").out);
  CHECK(scaled.at("job").at("run").at("lora").at("scale") == 2.0);
  CHECK(j.at("job").at("run").at("lora").at("scale") == 2.0);
  CHECK(
      scaled.at("peak").at("bytes") ==
      nlohmann::json::parse(run("estimate --model qwen2.5-7b --seq 2048 --lora r=16,targets=q_proj+v_proj --json").out)
          .at("peak")
          .at("bytes"));
  CHECK(has(run("estimate --model qwen2.5-7b --seq 64 --lora rank=8").err, "is not a part of an adapter"));
  CHECK(has(run("estimate --model qwen2.5-7b --seq 64 --lora targets=q_prj").err, "did you mean 'q_proj'?"));
  CHECK(run("estimate --model gpt2 --seq 64 --lora r=8").status == 0);  // on c_attn, as peft's default
  CHECK(has(run("estimate --model gpt2 --seq 64 --lora r=8 --quant nf4").err, "Conv1D"));
}

TEST_CASE("exit statuses") {
  CHECK(run("estimate --model llama-3.1-8b --gpu 4090 --seq 8192").status == 1);
  CHECK(run("estimate --model llama-3.1-8b").status == 2);
  CHECK(run("estimate --config /nonexistent --seq 8").status == 3);
  CHECK(run("estimate --config - --seq 8", "{\"model_type\": 3}").status == 3);
  CHECK(run("validate " TEST_ROOT "/golden/llama.jsonl").status == 0);
  CHECK(run("--help").status == 0);
  CHECK(run("").status == 0);
  CHECK(run("help explain").status == 0);
  CHECK(run("--version").out.starts_with("vramplan 0."));
}

TEST_CASE("validate fails with status 5 when a bound is broken") {
  std::string line = slurp(TEST_ROOT "/golden/llama.jsonl");
  line = line.substr(0, line.find('\n'));
  const std::size_t at = line.find("\"peak_backward\":[");
  line.insert(at + 17, "9");
  const std::string path = "/tmp/vramplan-broken.jsonl";
  std::ofstream(path) << line << "\n";
  const Result r = run("validate " + path + " --worst 3");
  CHECK(r.status == 5);
  CHECK(has(r.out, "OUT OF BOUNDS"));
  CHECK(has(r.out, "step1.peak_backward"));
  std::remove(path.c_str());
}

TEST_CASE("errors say what, where and the next step") {
  struct Row {
    const char* arguments;
    const char* part;
  };
  for (const Row& r : {Row{"estimte --model gpt2", "did you mean 'estimate'?"},
                       Row{"estimate --modle gpt2 --seq 8", "did you mean '--model'?"},
                       Row{"estimate --model gpt-2 --seq 8", "did you mean 'gpt2'?"},
                       Row{"estimate --model gpt2 --seq 8k", "write 8K for 8000 or 8Ki for 8192"},
                       Row{"estimate --model gpt2 --seq 2048", "at most --seq 1024"},
                       Row{"estimate --model gpt2 --seq 8 --gpu a100", "a100-sxm4-40gb"},
                       Row{"estimate --model gpt2 --seq 8 --segments 13", "ask for 1 to 12"},
                       Row{"estimate --model gpt2 --seq 8 --precision fp17", "known: fp32"},
                       Row{"estimate --model gpt2 --seq 8 --segments 2 --checkpoint per-layer", "exclude each other"},
                       Row{"estimate --layers 2 --seq 8", "--hidden"},
                       Row{"estimate --model gpt2 --seq 8 --score-copies 1", "--attention eager"},
                       Row{"estimate --model gpt2 --layers 2 --hidden 8 --heads 2 --seq 8", "exactly one of"},
                       Row{"estimate --model gpt2 --seq 8 --gpu-memory 24G", "24GiB"},
                       Row{"estimate --model gpt2 --seq 8 --checkpoint per-lair", "did you mean 'per-layer'?"},
                       Row{"estimate --model gpt2 --seq 8 --vocab 9", "edit a copy of the config"}}) {
    CAPTURE(r.arguments);
    const Result got = run(r.arguments);
    CHECK(got.status == 2);
    CHECK(got.out.empty());
    CHECK(has(got.err, r.part));
    const Result document = run(std::string(r.arguments) + " --json");
    CHECK(document.err.empty());
    CHECK(nlohmann::json::parse(document.out).at("error").at("code") == 2);
  }
}

TEST_CASE("sizes beyond the range are an error, not a number") {
  const Result r = run("estimate --layers 4 --hidden 1024 --heads 16 --attention eager --micro-batch 1Mi --seq 1Ti");
  CHECK(r.status == 3);
  CHECK(has(r.err, "64 bits"));
}

TEST_CASE("no colour and no control characters when piped") {
  CHECK_FALSE(has(run("estimate --model gpt2 --seq 64 --gpu 4090").out, "\x1b"));
  CHECK(has(run("estimate --model gpt2 --seq 64 --gpu 4090 --color always").out, "\x1b[1;32mfits"));
}

TEST_CASE("lists") {
  CHECK(has(run("models").out, "llama-3.1-8b"));
  CHECK(nlohmann::json::parse(run("models --json").out).at("models").size() >= 27);
  CHECK(has(run("gpus --vendor nvidia").out, "a100-sxm4-80gb"));
  CHECK(nlohmann::json::parse(run("gpus --json").out).at("gpus").size() > 300);
  CHECK(run("gpus --vendor acme").status == 2);
}

TEST_CASE("explain shows the two simple numbers") {
  const Result r = run("explain --layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512 --segments 10 --json");
  const auto j = nlohmann::json::parse(r.out);
  std::vector<std::uint64_t> simple;
  for (const auto& f : j.at("formulas"))
    if (f.at("name") == "simple") simple.push_back(f.at("bytes").get<std::uint64_t>());
  CHECK(simple == std::vector<std::uint64_t>{838860800, 109051904});
}

TEST_CASE("what a config file is called changes nothing about its model") {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path(), folder = fs::temp_directory_path() / "vramplan-config-names";
  fs::create_directories(folder);
  for (const std::string name : {"custom", "config.json", "gpt2"}) {
    CAPTURE(name);
    fs::copy_file(TEST_ROOT "/../data/models/gpt2/config.json", folder / name, fs::copy_options::overwrite_existing);
    fs::current_path(folder);
    const Result r = run("estimate --config " + name + " --seq 4096");
    fs::current_path(before);
    CHECK(r.status == 2);
    CHECK(has(r.err, "1024 learned positions"));
  }
  fs::remove_all(folder);
}

TEST_CASE("plans") {
  const Result a =
      run("plan --model llama-3.1-8b --gpu a100-80gb --seq 8192 --checkpoint per-layer --optimizer adamw8bit --max "
          "micro-batch --json");
  CHECK(a.status == 0);
  const auto j = nlohmann::json::parse(a.out);
  const auto b = j.at("answer").at("micro_batch").get<int>();
  auto verdict = [](int n) {
    return nlohmann::json::parse(run("estimate --model llama-3.1-8b --gpu a100-80gb --seq 8192 --checkpoint per-layer "
                                     "--optimizer adamw8bit --json "
                                     "--micro-batch " +
                                     std::to_string(n))
                                     .out)
        .at("verdict");
  };
  CHECK(verdict(b) == "fits");
  CHECK(verdict(b + 1) != "fits");
  CHECK(has(run("plan --model gpt2-xl --gpu rtx-4090 --seq 1024 --micro-batch 8 --min recompute").out, "<- answer"));
  const Result all = run("plan --model gpt2-xl --gpu rtx-4090 --seq 1024 --micro-batch 8 --all");
  CHECK(has(all.out, "dominated by "));
  CHECK_FALSE(has(all.out, "--all shows"));
  CHECK(run("plan --model llama-3.1-70b --gpu t4 --seq 4096").status == 1);
  CHECK(has(run("plan --model gpt2 --seq 1024 --smallest gpu --price t4=0.3 --price rtx-4090=0.5").out, "tesla-t4"));
  const Result seq = run("plan --model gpt2 --gpu a100-80gb --max seq --multiple 64");
  CHECK(has(seq.out, "seq 1024"));
  CHECK(has(seq.out, "learned positions"));
}

TEST_CASE("sweeps: a row a combination in order, refused combinations with their reason") {
  const Result r = run("plan --model gpt2 --gpu t4 --seq 1024 --sweep micro-batch=1..4*2 --sweep segments=4,13 --csv");
  CHECK(r.status == 0);
  std::istringstream lines(r.out);
  std::vector<std::string> rows;
  for (std::string l; std::getline(lines, l);) rows.push_back(l);
  REQUIRE(rows.size() == 7);
  CHECK(rows[0].starts_with("micro-batch,segments,verdict,"));
  CHECK(rows[1].starts_with("1,4,fits,"));
  CHECK(has(rows[2], "13 segments over 12 layers"));
  CHECK(rows[5].starts_with("4,4,"));
  CHECK(run("plan --model gpt2 --gpu t4 --seq 1024 --sweep segments=all --json").out.find("\"segments\": \"12\"") !=
        std::string::npos);
  for (const char* bad :
       {"micro-batch=1..1000000000", "micro-batch=1..1000 --sweep seq=1..1024 --sweep accumulate=1..9",
        "microbatch=1,2", "micro-batch", "micro-batch=4..1", "seq=all", "micro-batch=1..8*1"}) {
    CAPTURE(bad);
    const Result refused = run(std::string("plan --model gpt2 --gpu t4 --seq 512 --sweep ") + bad);
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "vramplan:"));
  }
  CHECK(has(run("plan --model gpt2 --gpu t4 --seq 512 --sweep microbatch=1").err, "micro-batch"));
}

TEST_CASE("the curve marks the square root of L and the lowest peak") {
  const Result r = run("curve --layers 16 --hidden 256 --heads 8 --micro-batch 2 --seq 128");
  CHECK(r.status == 0);
  CHECK(has(r.out, "<- lowest peak"));
  const auto j =
      nlohmann::json::parse(run("curve --layers 16 --hidden 256 --heads 8 --micro-batch 2 --seq 128 --json").out);
  CHECK(j.at("square_root") == 4);
  CHECK(j.at("points").size() == 16);
}

TEST_CASE("settings of the training loop are refused where they mean nothing") {
  struct Row {
    const char *flags, *says;
  };
  for (const Row& r :
       {Row{"--quant nf4", "frozen"}, Row{"--quant nf5 --lora r=8", "nf4"}, Row{"--lora r=1000000000000", "rank"},
        Row{"--optimizer-in-backward --accumulate 4", "step in backward"},
        Row{"--optimizer lion --optimizer-form fused", "one form"}, Row{"--optimizer sgd --amsgrad", "amsgrad"},
        Row{"--checkpoint selective:attentoin", "attention"}, Row{"--checkpoint every:99", "layers"},
        Row{"--offload boundaries", "boundaries"}, Row{"--offload disk", "optimizer"},
        Row{"--loss chunked:5000", "part"}, Row{"--loss chunky", "chunked"}, Row{"--fp32-gradients", "fp32"},
        Row{"--use-cache --checkpoint per-layer", "cache"}, Row{"--ddp sideways", "copies"},
        Row{"--loss fused-linear --precision amp", "autocast"}}) {
    CAPTURE(r.flags);
    const Result x = run(std::string("estimate --model llama-3.2-1b --seq 512 ") + r.flags);
    CHECK(x.status == 2);
    CHECK(has(x.err, r.says));
  }
}

TEST_CASE("a model by its sizes has positions for every sequence that is tried") {
  const auto j = nlohmann::json::parse(
      run("plan --layers 2 --hidden 64 --heads 4 --vocab 512 --gpu-memory 3GiB --max seq --multiple 64 --json").out);
  CHECK(j.at("answer").at("seq").get<std::int64_t>() > 64);
}

TEST_CASE("TF32 saves no byte, and the estimate says so") {
  auto estimated = [](const std::string& precision) {
    const auto r = run("estimate --model gpt2 --seq 64 --json --precision " + precision);
    REQUIRE(r.status == 0);
    return nlohmann::json::parse(r.out);
  };
  const nlohmann::json wide = estimated("fp32"), rounded = estimated("tf32");
  CHECK(rounded.at("peak") == wide.at("peak"));
  CHECK(rounded.at("job").at("run").at("precision") == "fp32");
  CHECK(rounded.at("assumptions").dump().find("TF32 saves no byte") != std::string::npos);
}
