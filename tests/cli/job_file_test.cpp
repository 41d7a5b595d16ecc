// Jobs as files: what is printed is read back to the same output, for every golden job; and whose value wins.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/job_flags.h"
#include "program.h"
#include "random.h"
#include "read/golden.h"
#include "render/json.h"
#include "train/words.h"

using nlohmann::ordered_json;
using vramplan::test::has;
using vramplan::test::run;
using vramplan::test::slurp;
using namespace vramplan;

namespace {

class Folder {
 public:
  Folder() { REQUIRE(mkdtemp(path_)); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string at = std::string(path_) + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(at).parent_path());
    std::ofstream(at) << text;
    return at;
  }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/vramplan-jobs-XXXXXX";
};

/// What flags cannot say of a golden job, or nothing.
std::string unsayable(const GoldenCase& g) {
  if (!g.not_expressed.empty()) return g.not_expressed;
  if (g.config.architecture == Architecture::textbook) return "the textbook's block";
  if (!g.options.loss.upcast) return "chunked loss without upcast";
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : "+") + w;
  return out;
}

/// The flags of a golden job as a file: their names and values written here by hand, from the case's options.
ordered_json flags_of(const GoldenCase& g, const ordered_json& config) {
  const TrainOptions& o = g.options;
  ordered_json j{{"config", {{"file", g.id}, {"content", config}}},
                 {"micro_batch", o.micro_batch},
                 {"seq", o.seq},
                 {"accumulate", o.accumulate},
                 {"precision", word_for(kPrecisions, o.precision)},
                 {"optimizer", optimizer_word(o.optimizer)},
                 {"momentum", o.optimizer.momentum},
                 {"weight_decay", o.optimizer.weight_decay},
                 {"amsgrad", o.optimizer.amsgrad},
                 {"optimizer_in_backward", o.optimizer.in_backward},
                 {"fp32_embedding_states", o.optimizer.fp32_embeddings},
                 {"ema", o.ema},
                 {"grad_scaler", o.grad_scaler},
                 {"attention", word_for(kAttentions, o.attention)},
                 {"loss", loss_word(o.loss, g.config.labels)},
                 {"keeps_output", o.keeps_output},
                 {"zero_in_place", o.zero_in_place},
                 {"use_cache", o.use_cache},
                 {"evaluate", o.evaluate}};
  if (o.optimizer.states == StateStorage::as_parameter) j["optimizer_form"] = word_for(kForms, o.optimizer.form);
  if (o.target_seq > 0) j["target_seq"] = o.target_seq;
  if (o.ddp) j["ddp"] = word_for(kBuckets, o.bucket_views);
  if (o.clip) j["clip"] = *o.clip;
  if (o.clip_for_loop) j["clip"] = std::to_string(*o.clip) + ",for-loop";
  if (o.frozen_layers) j["freeze"] = *o.frozen_layers;
  j["no_input_grads"] = !o.input_grads;
  if (o.quant) j["quant"] = quant_word(*o.quant);
  if (o.lora) {
    j["lora"] = "r=" + std::to_string(o.lora->rank) + ",targets=" + joined(o.lora->targets) +
                ",dropout=" + std::to_string(o.lora->dropout) +
                ",dtype=" + word_for(kAdapterTypes, o.lora->full_precision);
    if (o.lora->dora) j["lora"] = j["lora"].get<std::string>() + ",dora";
    if (!o.lora->saved.empty()) j["lora"] = j["lora"].get<std::string>() + ",save=" + joined(o.lora->saved);
  }
  if (o.fp8) j["fp8"] = word_for(kFp8Recipes, *o.fp8);
  if (o.prompt && !o.prompt->prefix) j["prompt_tuning"] = o.prompt->tokens;
  if (o.prompt && o.prompt->prefix)
    j["prefix_tuning"] = std::to_string(o.prompt->tokens) +
                         (o.prompt->projection > 0 ? ",projection=" + std::to_string(o.prompt->projection) : "");
  Checkpointing plain = o.checkpoint;
  plain.reentrant = plain.on_host = false;
  j["checkpoint"] = checkpoint_word(plain);
  j["reentrant"] = o.checkpoint.reentrant;
  if (o.checkpoint.on_host) j["offload"] = "boundaries";
  return j;
}

Job job_in(const std::string& file) {
  JobFlags flags;
  flags.set("--job", file);
  flags.complete(Ambient{});
  return flags.job(Context{});
}

}  // namespace

TEST_CASE("every golden job: its flags say it, the estimate is PyTorch's, and its document gives the same document") {
  const Folder folder;
  int read = 0, said = 0, unsaid = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TEST_ROOT "/golden")) {
    std::ifstream lines(entry.path());
    for (std::string line; std::getline(lines, line);) {
      if (++read % vramplan::test::kThinned != 0) continue;
      const GoldenCase g = read_golden(line, entry.path().string());
      CAPTURE(g.id);
      if (!unsayable(g).empty()) {
        ++unsaid;
        continue;
      }
      ++said;
      const ordered_json config = ordered_json::parse(line).at("inputs").at("model").at("config");
      const Job job = job_in(folder.file("job.json", flags_of(g, config).dump()));
      TrainOptions expected = g.options;
      expected.device = job.run.device;
      expected.optimizer.lr = job.run.optimizer.lr;
      if (expected.loss.form != LossForm::chunked) expected.loss.chunks = job.run.loss.chunks;
      CHECK(job.run == expected);
      if (g.steps) {
        Job on_that_device = job;
        on_that_device.run.device.mask_alignment = g.options.device.mask_alignment;
        const Estimate e = estimate(on_that_device);
        CHECK(e.peak == g.steps->at(1).peak.requested);
        // PyTorch's figure ends before the evaluation that follows the step.
        if (!g.options.evaluate) CHECK(e.first_step.peak == g.steps->at(0).peak.requested);
      }
      const std::string document = estimate_json(estimate(job));
      CHECK(estimate_json(estimate(job_in(folder.file("out.json", document)))) == document);
    }
  }
  CHECK(said > 400 / vramplan::test::kThinned);
  CHECK(unsaid < 80);
}

TEST_CASE("the command line is above the job file, that above the environment, that above the defaults") {
  const Folder folder;
  folder.file("vramplan/defaults.json", R"({"gpu": "t4", "precision": "fp16", "optimizer": "sgd", "seq": 64})");
  const std::string job = folder.file("job.json", R"({"seq": 256, "micro-batch": 3, "precision": "fp32"})");
  const std::string environment = "env XDG_CONFIG_HOME=" + folder.path() + " VRAMPLAN_SEQ=128 VRAMPLAN_OPTIMIZER=adam ";
  const auto r = run("estimate --model gpt2 --micro-batch 2 --job " + job + " --show-origin --json", "", environment);
  REQUIRE(r.status == 0);
  std::map<std::string, std::string> got;
  const ordered_json document = ordered_json::parse(r.out);
  for (const ordered_json& s : document.at("settings"))
    if (!s.at("value").is_null())
      got[s.at("flag").get<std::string>()] =
          s.at("value").get<std::string>() + " by " + s.at("origin").get<std::string>();
  CHECK(got["--micro-batch"] == "2 by command line");
  CHECK(got["--seq"] == "256 by " + job);
  CHECK(got["--precision"] == "fp32 by " + job);
  CHECK(got["--optimizer"] == "adam by environment VRAMPLAN_OPTIMIZER");
  CHECK(got["--gpu"] == "t4 by " + folder.path() + "/vramplan/defaults.json");
  CHECK(got["--attention"] == "sdpa by default");
}

TEST_CASE("what contradicts a higher value is left out, and a switch can be taken back") {
  const Folder folder;
  const std::string job = folder.file(
      "job.json", R"({"model": "llama-3.1-8b", "segments": 4, "gpu": "a100-80gb", "mig": "3g.40gb", "amsgrad": true})");
  const auto r =
      run("estimate --layers 2 --hidden 64 --heads 4 --seq 64 --checkpoint per-layer --gpu-memory 8GiB "
          "--amsgrad=false --json --job " +
          job);
  REQUIRE(r.status == 0);
  const ordered_json j = ordered_json::parse(r.out).at("job");
  CHECK(j.at("model").at("name") == "custom");
  CHECK(j.at("run").at("checkpoint") == "per-layer");
  CHECK(j.at("run").at("amsgrad") == false);
  CHECK(j.at("gpu").at("id") == "custom");
}

TEST_CASE("bad job files are told with what, where and the next step") {
  const Folder folder;
  const auto fails = [&](const std::string& text, const std::string& what) {
    CAPTURE(text);
    const auto r = run("estimate --model gpt2 --seq 64 --job " + folder.file("job.json", text));
    CHECK(r.status >= 2);
    CHECK(r.status <= 3);
    CHECK(has(r.err, what));
    CHECK(has(r.err, folder.path() + "/job.json"));
  };
  fails(R"({"modle": "gpt2"})", "did you mean 'model'?");
  fails(R"({"lora": [1]})", "a flag cannot be array");
  fails(R"({"job": "other.json"})", "expected");
  fails(R"({"model_type": "gpt2"})", "--config");
  fails(R"({"kind": "rehearsal", "job": {}})", "does not carry the flags");
  fails(R"([])", "object");
  fails(R"({"seq": 1, "seq": 2})", "seq");
  fails("", "JSON");
}

TEST_CASE("an unknown variable is a warning in the result") {
  const auto r = run("estimate --model gpt2 --seq 64", "", "env VRAMPLAN_MICROBATCH=4 ");
  CHECK(r.status == 0);
  CHECK(has(r.out, "VRAMPLAN_MICROBATCH is no flag of a job; did you mean VRAMPLAN_MICRO_BATCH?"));
}

TEST_CASE("a model's folder, and TrainingArguments in the place of a config") {
  const Folder folder;
  folder.file("model/config.json", slurp(TEST_ROOT "/../data/models/llama-3.2-1b/config.json"));
  const std::string args = folder.file("args.json", R"({"output_dir": "o", "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 4, "bf16": true, "optim": "paged_adamw_8bit", "gradient_checkpointing": true,
    "gradient_checkpointing_kwargs": {"use_reentrant": true}, "max_seq_length": 512, "max_grad_norm": 0.5,
    "label_smoothing_factor": 0.1, "weight_decay": 0.1})");
  const auto r = run("estimate --config " + folder.path() + "/model --job " + args + " --json");
  REQUIRE(r.status == 0);
  const ordered_json run_of = ordered_json::parse(r.out).at("job").at("run");
  CHECK(run_of.at("micro_batch") == 2);
  CHECK(run_of.at("accumulate") == 4);
  CHECK(run_of.at("seq") == 512);
  CHECK(run_of.at("precision") == "amp-bf16");
  CHECK(run_of.at("optimizer") == "paged-adamw8bit");
  CHECK(run_of.at("fp32_embedding_states") == true);
  CHECK(run_of.at("checkpoint") == "per-layer,reentrant");
  CHECK(run_of.at("clip") == 0.5);
  CHECK(run_of.at("loss") == "smoothed");
  const auto same = run("estimate --model llama-3.2-1b --config " + args + " --json");
  CHECK(ordered_json::parse(same.out).at("job").at("run") == run_of);
}

TEST_CASE("TrainingArguments that would need more than one card, or an optimizer that is not modelled, are errors") {
  const Folder folder;
  for (const char* extra :
       {R"("deepspeed": "ds.json")", R"("fsdp": "full_shard")", R"("fsdp": true)", R"("optim": "lomo")"}) {
    CAPTURE(extra);
    const std::string args = folder.file(
        "a.json",
        std::string(R"({"output_dir": "o", "per_device_train_batch_size": 2, "max_length": 64, )") + extra + "}");
    CHECK(run("estimate --model gpt2 --job " + args).status == 3);
  }
  const std::string args = folder.file("a.json", R"({"output_dir": "o", "per_device_train_batch_size": 2,
    "max_length": 64, "deepspeed": null, "fsdp": [], "torch_compile": false})");
  CHECK(run("estimate --model gpt2 --job " + args).status == 0);
}
