#include "render/document.h"

#include "train/words.h"

namespace vramplan {

using json = nlohmann::ordered_json;

namespace {

/// What makes the same job again when it is given as --job. A file is an object.
json flags_of(const Job& job) {
  json j = json::object();
  for (const GivenFlag& g : job.given) j[g.flag.substr(2)] = flag_json(g.value);
  return j;
}

}  // namespace

json flag_json(const std::string& value) {
  if (value.empty()) return {};
  return value.starts_with('{') ? json::parse(value) : json(value);
}

std::string flag_text(const std::string& value) {
  return value.starts_with('{') ? json::parse(value).at("file").get<std::string>() : value;
}

json document(const char* kind) { return {{"schema_version", 1}, {"kind", kind}}; }

std::string document_text(const json& j) { return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

json model_json(const ModelConfig& m) {
  json j{{"name", m.name},
         {"architecture", word_for(kArchitectures, m.architecture)},
         {"layers", m.layers},
         {"hidden", m.hidden},
         {"heads", m.heads},
         {"kv_heads", m.kv_heads},
         {"head_dim", m.head_dim},
         {"ffn", m.ffn},
         {"vocab", m.vocab},
         {"positions", m.positions},
         {"norm", word_for(kNorms, m.norm)},
         {"mlp", word_for(kMlps, m.mlp)},
         {"position", word_for(kPositions, m.position)},
         {"tied", m.tied},
         {"qkv_bias", m.qkv_bias},
         {"out_bias", m.out_bias},
         {"mlp_bias", m.mlp_bias},
         {"embedding_dropout", m.embedding_dropout},
         {"attention_dropout", m.attention_dropout},
         {"residual_dropout", m.residual_dropout}};
  j["window"] = m.window ? json(*m.window) : json();
  j["full_layers"] = m.full_layers;
  j["full_every"] = m.full_every;
  j["head_norms"] = word_for(kHeadNorms, m.head_norms);
  j["pre_norms"] = m.pre_norms;
  j["post_norms"] = m.post_norms;
  j["multipliers"] = m.multipliers ? json{{"embedding", m.multipliers->embedding},
                                          {"residual", m.multipliers->residual},
                                          {"attention", m.multipliers->attention},
                                          {"logits", m.multipliers->logits}}
                                   : json();
  j["activation_dropout"] = m.activation_dropout;
  j["classifier_dropout"] = m.classifier_dropout;
  j["scales_embedding"] = m.scales_embedding;
  j["source"] =
      m.two_stacks() ? json{{"layers", m.source.layers}, {"heads", m.source.heads}, {"ffn", m.source.ffn}} : json();
  j["token_types"] = m.token_types;
  j["first_position"] = m.first_position;
  return j;
}

json job_json(const Job& job) {
  const TrainOptions& r = job.run;
  json run{{"micro_batch", r.micro_batch},
           {"seq", r.seq},
           {"target_seq", job.model.two_stacks() ? json(target_length(r)) : json()},
           {"accumulate", r.accumulate},
           {"precision", word_for(kPrecisions, r.precision)},
           {"optimizer", optimizer_word(r.optimizer)},
           {"optimizer_form", word_for(kForms, r.optimizer.form)},
           {"momentum", r.optimizer.momentum},
           {"weight_decay", r.optimizer.weight_decay},
           {"amsgrad", r.optimizer.amsgrad},
           {"optimizer_in_backward", r.optimizer.in_backward},
           {"fp32_embedding_states", r.optimizer.fp32_embeddings},
           {"optimizer_on_host", r.optimizer.on_host},
           {"ema", r.ema},
           {"checkpoint", checkpoint_word(r.checkpoint)},
           {"attention", word_for(kAttentions, r.attention)},
           {"score_copies", r.score_copies},
           {"dropout_mask", word_for(kMaskTypes, r.dropout_mask)},
           {"clip", r.clip ? json(*r.clip) : json()},
           {"clip_for_loop", r.clip_for_loop},
           {"frozen_layers", r.frozen_layers ? json(*r.frozen_layers) : json()},
           {"input_grads", r.input_grads},
           {"keeps_output", r.keeps_output}};
  run["lora"] = r.lora ? json{{"r", r.lora->rank},        {"targets", r.lora->targets},
                              {"scale", r.lora->scale()}, {"dropout", r.lora->dropout},
                              {"save", r.lora->saved},    {"dtype", word_for(kAdapterTypes, r.lora->full_precision)},
                              {"dora", r.lora->dora}}
                       : json();
  run["prompt"] = r.prompt ? json{{"kind", r.prompt->prefix ? "prefix" : "prompt"},
                                  {"tokens", r.prompt->tokens},
                                  {"projection", r.prompt->projection}}
                           : json();
  run["fp8"] = r.fp8 ? json(word_for(kFp8Recipes, *r.fp8)) : json();
  run["grad_scaler"] = r.grad_scaler;
  run["fp32_gradients"] = r.fp32_gradients;
  run["zero_in_place"] = r.zero_in_place;
  run["use_cache"] = r.use_cache;
  run["evaluate"] = r.evaluate;
  run["ddp"] = r.ddp ? json(word_for(kBuckets, r.bucket_views)) : json();
  run["loss"] = loss_word(r.loss, job.model.labels);
  run["quant"] = r.quant ? json(quant_word(*r.quant)) : json();
  json j{{"flags", flags_of(job)}, {"model", model_json(job.model)}, {"run", run}};
  j["gpu"] = job.card ? json{{"id", job.card->id},
                             {"name", job.card->name},
                             {"usable", job.card->usable.count()},
                             {"usable_basis", job.card->usable_basis}}
                      : json();
  j["allocator"] = job.allocator;
  j["reserve"] = job.reserve.count();
  j["memory_fraction"] = job.memory_fraction;
  j["calibration"] = job.calibration.origin;
  return j;
}

}  // namespace vramplan
