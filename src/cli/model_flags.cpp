#include "cli/model_flags.h"

#include <algorithm>

#include "cli/values.h"
#include "read/data.h"
#include "read/model_config.h"
#include "read/named_file.h"

namespace vramplan {

std::vector<Flag> ModelFlags::flags() {
  const std::string m = "Model", f = "A model by its sizes";
  return {
      {"--model", "NAME", "a preset; 'vramplan models' lists them", &model_, m},
      {"--config", "FILE", "a Hugging Face config.json, or its folder ('-' reads standard input)", &config_, m},
      {"--layers", "L", "number of layers", &layers_, f},
      {"--hidden", "H", "hidden size", &hidden_, f},
      {"--heads", "A", "attention heads", &heads_, f},
      {"--kv-heads", "K", "key/value heads (default: heads)", &kv_heads_, f},
      {"--head-dim", "D", "head size (default: hidden / heads)", &head_dim_, f},
      {"--ffn", "F", "feed-forward width (default: 4 x hidden)", &ffn_, f},
      {"--vocab", "V", "vocabulary (default: 50257)", &vocab_, f},
      {"--norm", "KIND", "layer-norm, rms-norm, rms-norm-fused, rms-norm-gemma, rms-norm-olmo (default: layer-norm)",
       &norm_, f},
      {"--mlp", "KIND", "gelu, gelu-new, gelu-tanh, relu, swiglu, geglu-tanh (default: gelu)", &mlp_, f},
      {"--position", "KIND", "learned, rotary, none (default: learned)", &position_, f},
      {"--dropout", "P", "all dropouts (default: 0; for presets: as their config says)", &dropout_, f},
      {"--tied", "", "the head is the token embedding", &tied_, f},
  };
}

ModelConfig ModelFlags::free_model(std::vector<std::string>& assumed) const {
  for (const auto& [text, flag] : {std::pair{&layers_, "--layers"}, {&hidden_, "--hidden"}, {&heads_, "--heads"}})
    if (text->empty())
      throw UserError(fmt::format("{} is missing", flag), flag,
                      "a model by its sizes needs --layers, --hidden and --heads; or name one with --model",
                      Exit::usage);
  ModelConfig c;
  c.name = "custom";
  c.architecture = Architecture::llama;  // the general block: separate projections, any norm, MLP and positions
  c.layers = parse_count(layers_, "--layers");
  c.hidden = parse_count(hidden_, "--hidden");
  c.heads = parse_count(heads_, "--heads");
  c.kv_heads = count_or(kv_heads_, "--kv-heads", c.heads);
  c.head_dim = count_or(head_dim_, "--head-dim", c.heads > 0 ? c.hidden / c.heads : 0);
  if (head_dim_.empty() && c.heads > 0 && c.hidden % c.heads != 0)
    throw UserError(fmt::format("{} heads do not divide a hidden size of {}", c.heads, c.hidden), "--heads",
                    "choose heads that divide it, or give --head-dim", Exit::usage);
  c.ffn = count_or(ffn_, "--ffn", checked_multiply(4, c.hidden));
  c.vocab = count_or(vocab_, "--vocab", 50257);
  c.norm = word(kNorms, norm_, "--norm", NormKind::layer_norm);
  c.mlp = word(kMlps, mlp_, "--mlp", MlpKind::gelu);
  c.position = word(kPositions, position_, "--position", PositionKind::learned);
  c.tied = tied_;
  c.qkv_bias = c.out_bias = c.mlp_bias = c.norm == NormKind::layer_norm;
  if (vocab_.empty()) assumed.push_back("vocabulary 50257 (GPT-2's); the logits grow with it: --vocab");
  if (norm_.empty() && mlp_.empty())
    assumed.push_back("a GPT-style block: layer norm, GELU, biases, feed-forward width " + std::to_string(c.ffn));
  return c;
}

void ModelFlags::refuse_sizes() const {
  for (const auto& [value, flag] : {std::pair{&kv_heads_, "--kv-heads"},
                                    {&head_dim_, "--head-dim"},
                                    {&ffn_, "--ffn"},
                                    {&vocab_, "--vocab"},
                                    {&norm_, "--norm"},
                                    {&mlp_, "--mlp"},
                                    {&position_, "--position"}})
    if (!value->empty())
      throw UserError(fmt::format("{} goes with --layers, --hidden and --heads", flag), flag,
                      "a preset or a config has its own value: edit a copy of the config", Exit::usage);
  if (tied_)
    throw UserError("--tied goes with --layers, --hidden and --heads", "--tied",
                    "a preset or a config says itself whether it ties", Exit::usage);
}

void ModelFlags::read(const Context& context, Job& job) const {
  const bool sizes = by_sizes();
  if (int(!model_.empty()) + int(!config_.empty()) + int(sizes) != 1)
    throw UserError(
        model_.empty() && config_.empty() && !sizes ? "no model was named" : "the model was named in more than one way",
        "--model", "give exactly one of --model NAME, --config FILE, or --layers --hidden --heads", Exit::usage);
  if (sizes) {
    job.model = free_model(job.assumptions);
  } else {
    const NamedFile file =
        config_.empty() ? NamedFile{model_, Data(context.data_dir).model(model_)} : read_named(config_);
    ReadConfig read = read_model_config(file.content, file.name);
    job.model = read.config;
    job.warnings = read.warnings;
    refuse_sizes();
  }
  if (!dropout_.empty())
    job.model.embedding_dropout = job.model.attention_dropout = job.model.residual_dropout =
        number(dropout_, "--dropout");
  if (!dropout_.empty() && job.model.two_stacks()) job.model.activation_dropout = job.model.residual_dropout;
  if (!dropout_.empty() && job.model.encoder()) job.model.classifier_dropout = job.model.residual_dropout;
}

void ModelFlags::settle_positions(Job& job) const {
  if (!by_sizes()) return;
  job.positions_follow_seq = true;
  job.model.positions = std::max<std::int64_t>(job.run.seq, 1);
  check_model_config(job.model, "the model given by its sizes");
}

}  // namespace vramplan
