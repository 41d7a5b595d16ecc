#include "read/training_args.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "read/json_object.h"
#include "read/training_keys.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

/// transformers' OptimizerNames that are modelled.
struct Optim {
  std::string_view name, optimizer, form;
  bool of_bitsandbytes = false;  ///< the Trainer keeps the states of embeddings in fp32
};
constexpr Optim kOptims[]{{"adamw_torch", "adamw", "foreach"},
                          {"adamw_torch_fused", "adamw", "fused"},
                          {"adamw_bnb_8bit", "adamw8bit", "", true},
                          {"adamw_8bit", "adamw8bit", "", true},
                          {"paged_adamw_8bit", "paged-adamw8bit", "", true},
                          {"paged_adamw_32bit", "paged-adamw32bit", ""},
                          {"paged_adamw", "paged-adamw32bit", ""},
                          {"lion_32bit", "lion", ""},
                          {"lion_8bit", "lion8bit", "", true},
                          {"paged_lion_32bit", "paged-lion", ""},
                          {"paged_lion_8bit", "paged-lion8bit", "", true},
                          {"adafactor", "adafactor", ""},
                          {"sgd", "sgd", ""}};

/// Where trainers built on TrainingArguments keep the sequence length: trl's SFTConfig, LLaMA-Factory, run_clm.py.
constexpr std::string_view kLengths[]{"max_length", "max_seq_length", "cutoff_len", "block_size"};

class Reading {
 public:
  Reading(const json& file, const std::string& where) : file_(file), o_(file, where), where_(where) {}

  JobFile flags() {
    refuse_sharding();
    give("--micro-batch", std::to_string(o_.integer("per_device_train_batch_size")));
    give("--accumulate", std::to_string(o_.integer_or("gradient_accumulation_steps", 1)));
    for (const std::string_view key : kLengths)
      if (o_.has(key)) {
        give("--seq", std::to_string(o_.integer(key)));
        break;
      }
    precision();
    optimizer();
    checkpointing();
    loss();
    if (o_.number_or("max_grad_norm", 1) > 0) give("--clip", fmt::format("{}", o_.number_or("max_grad_norm", 1)));
    if (o_.boolean_or("auto_find_batch_size", false))
      warn("auto_find_batch_size", "lowers the batch after running out of memory: the one stated is planned");
    account_for_keys();
    return std::move(out_);
  }

 private:
  void warn(std::string_view key, std::string_view what) {
    out_.warnings.push_back(fmt::format("{}: {}", o_.at(key), what));
  }

  static bool is_off(const json& value, std::string_view inert) {
    return value.is_null() || value.empty() || value == json(false) || value == json(0) || value == json("") ||
           value == json("no") || value == json("none") ||
           (!inert.empty() && value.is_string() && value.get_ref<const std::string&>() == inert);
  }
  bool switched_off(std::string_view key) const {
    return !key.empty() && o_.stated(key) && is_off(o_.has(key) ? o_.raw(key) : json(), {});
  }

  /// Every key was read, changes nothing, is warned of, or is an error.
  void account_for_keys() {
    for (const auto& [key, value] : file_.items()) {
      const TrainingKey* const known = training_key(key);
      if (known && (known->use == KeyUse::used || known->use == KeyUse::harmless)) continue;
      if (is_off(value, known ? known->inert : std::string_view())) continue;
      if (!known) {
        warn(key, "the key is not known and was not read; if it changes memory, the estimate is off");
      } else if (known->use == KeyUse::evaluation) {
        warn(key, "evaluation between steps is not estimated; --evaluate adds a forward pass without its kept logits");
      } else if (!switched_off(known->within)) {
        o_.fail(key, fmt::format("{} changes the memory of a step and is not read here", key),
                std::string(known->instead));
      }
    }
  }

  void give(const char* flag, std::string value) { out_.flags.push_back({flag, std::move(value), where_}); }

  void refuse_sharding() const {
    for (const char* key : {"deepspeed", "fsdp"})
      if (o_.has(key) && !o_.raw(key).empty() && o_.raw(key) != json(false) && o_.raw(key) != json(""))
        o_.fail(key, "sharded training is not modelled", "take it out for an estimate of one whole replica");
  }

  /// bf16 and fp16 ask for autocast, whatever the weights were loaded in.
  void precision() {
    const bool bf16 = o_.boolean_or("bf16", false), fp16 = o_.boolean_or("fp16", false);
    give("--precision", bf16 ? "amp-bf16" : fp16 ? "amp-fp16" : "fp32");
    out_.warnings.push_back(
        fmt::format("{}: weights are taken to be loaded in fp32; where the script loads them in 16 bits, say so: "
                    "--precision bf16",
                    where_));
  }

  void optimizer() {
    const std::string name = o_.text_or("optim", "adamw_torch_fused");
    std::vector<std::string> known;
    for (const Optim& m : kOptims) {
      known.emplace_back(m.name);
      if (m.name != name) continue;
      give("--optimizer", std::string(m.optimizer));
      if (!m.form.empty()) give("--optimizer-form", std::string(m.form));
      if (m.of_bitsandbytes) give("--fp32-embedding-states", "true");
      give("--weight-decay", fmt::format("{}", o_.number_or("weight_decay", 0)));
      return;
    }
    o_.fail("optim", fmt::format("the optimizer '{}' is not modelled", name),
            did_you_mean(name, known, "give another, or leave it out and say --optimizer"));
  }

  /// The new name of a setting wins over its old one, as in TrainingArguments.__post_init__.
  std::string_view newer(std::string_view name, std::string_view old) const { return o_.has(name) ? name : old; }

  void checkpointing() {
    if (!o_.boolean_or(newer("activation_checkpointing", "gradient_checkpointing"), false)) {
      if (o_.boolean_or("use_cache", false)) give("--use-cache", "true");
      return;
    }
    const std::string_view key = newer("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs");
    if (o_.has(key))
      checkpointing_with(o_.object(key), key);
    else
      give("--checkpoint", "per-layer");
  }

  /// modeling_utils.py, _set_gradient_checkpointing: every n-th layer, from the first on.
  void checkpointing_with(const JsonObject& kwargs, std::string_view key) {
    const std::int64_t n = kwargs.integer_or("every_n_layers", 1);
    if (n < 1) kwargs.fail("every_n_layers", "must be at least 1", "1 checkpoints every layer");
    give("--checkpoint", n == 1 ? std::string("per-layer") : fmt::format("every:{}", n));
    if (kwargs.boolean_or("use_reentrant", false)) give("--reentrant", "true");
    if (kwargs.boolean_or("offload", false)) give("--offload", "boundaries");
    for (const char* harmless : {"preserve_rng_state", "determinism_check", "debug", "early_stop"})
      kwargs.has(harmless);
    for (const std::string& unknown : kwargs.unread())
      warn(fmt::format("{}.{}", key, unknown), "the key is not known and was not read");
  }

  void loss() {
    if (o_.boolean_or("use_liger_kernel", false)) {
      give("--loss", "fused-linear");
      warn("use_liger_kernel", "of its kernels only the fused linear loss is modelled: the others keep less");
    } else if (o_.number_or("label_smoothing_factor", 0) > 0) {
      give("--loss", "smoothed");
    }
  }

  const json& file_;
  JsonObject o_;
  std::string where_;
  JobFile out_;
};

}  // namespace

bool is_training_args(const json& file) {
  return file.is_object() && file.contains("per_device_train_batch_size") && file.contains("output_dir");
}

JobFile read_training_args(const json& file, const std::string& where) { return Reading(file, where).flags(); }

}  // namespace vramplan
