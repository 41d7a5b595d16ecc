// Names of settings, as flags and JSON spell them, in both directions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramplan/model/config.h"
#include "vramplan/train/options.h"

namespace vramplan {

template <class T>
struct Word {
  std::string_view name;
  T value;
};

inline constexpr Word<Precision> kPrecisions[]{{"fp32", Precision::fp32},
                                               {"bf16", Precision::bf16},
                                               {"fp16", Precision::fp16},
                                               {"amp-bf16", Precision::amp_bf16},
                                               {"amp-fp16", Precision::amp_fp16},
                                               {"mixed-bf16", Precision::mixed_bf16},
                                               {"mixed-fp16", Precision::mixed_fp16},
                                               {"tf32", Precision::fp32},
                                               {"amp", Precision::amp_bf16},
                                               {"mixed", Precision::mixed_bf16}};
/// An optimizer's name says where its states are and in what.
struct OptimizerWord {
  OptimizerKind kind;
  StateStorage states = StateStorage::as_parameter;
  bool paged = false;
  bool operator==(const OptimizerWord&) const = default;
};
inline constexpr Word<OptimizerWord> kOptimizers[]{
    {"adamw", {OptimizerKind::adamw}},
    {"adam", {OptimizerKind::adam}},
    {"sgd", {OptimizerKind::sgd}},
    {"adafactor", {OptimizerKind::adafactor}},
    {"muon", {OptimizerKind::muon}},
    {"lion", {OptimizerKind::lion, StateStorage::fp32}},
    {"lion8bit", {OptimizerKind::lion, StateStorage::blockwise}},
    {"adamw8bit", {OptimizerKind::adamw, StateStorage::blockwise}},
    {"adam8bit", {OptimizerKind::adam, StateStorage::blockwise}},
    {"adamw32bit", {OptimizerKind::adamw, StateStorage::fp32}},
    {"paged-lion", {OptimizerKind::lion, StateStorage::fp32, true}},
    {"paged-lion8bit", {OptimizerKind::lion, StateStorage::blockwise, true}},
    {"paged-adamw8bit", {OptimizerKind::adamw, StateStorage::blockwise, true}},
    {"paged-adamw32bit", {OptimizerKind::adamw, StateStorage::fp32, true}}};
inline constexpr Word<OptimizerForm> kForms[]{
    {"foreach", OptimizerForm::foreach}, {"for-loop", OptimizerForm::for_loop}, {"fused", OptimizerForm::fused}};
inline constexpr Word<AttentionForm> kAttentions[]{{"sdpa", AttentionForm::sdpa},
                                                   {"eager", AttentionForm::eager},
                                                   {"flash", AttentionForm::flash},
                                                   {"efficient", AttentionForm::efficient},
                                                   {"math", AttentionForm::math}};
inline constexpr Word<DType> kMaskTypes[]{
    {"bool", DType::boolean}, {"bf16", DType::bf16}, {"fp16", DType::fp16}, {"fp32", DType::fp32}};
inline constexpr Word<bool> kBuckets[]{{"copies", false}, {"views", true}};
inline constexpr Word<bool> kAdapterTypes[]{{"fp32", true}, {"base", false}};
inline constexpr Word<QuantKind> kQuantKinds[]{
    {"nf4", QuantKind::nf4}, {"fp4", QuantKind::fp4}, {"int8", QuantKind::int8}};
inline constexpr Word<Fp8Recipe> kFp8Recipes[]{{"delayed", Fp8Recipe::delayed}, {"current", Fp8Recipe::current}};
inline constexpr Word<LossForm> kLosses[]{{"causal", LossForm::causal},
                                          {"shifted", LossForm::shifted},
                                          {"plain", LossForm::plain},
                                          {"smoothed", LossForm::smoothed},
                                          {"chunked", LossForm::chunked},
                                          {"fused-linear", LossForm::fused_linear},
                                          {"classification", LossForm::classification},
                                          {"multi-label", LossForm::multi_label},
                                          {"regression", LossForm::regression},
                                          {"masked", LossForm::masked},
                                          {"seq2seq", LossForm::sequence_to_sequence}};
inline constexpr Word<NormKind> kNorms[]{{"layer-norm", NormKind::layer_norm},
                                         {"rms-norm", NormKind::rms_norm_python},
                                         {"rms-norm-fused", NormKind::rms_norm_fused},
                                         {"rms-norm-gemma", NormKind::rms_norm_gemma},
                                         {"rms-norm-olmo", NormKind::rms_norm_olmo}};
inline constexpr Word<HeadNorms> kHeadNorms[]{
    {"none", HeadNorms::none}, {"each", HeadNorms::each}, {"whole", HeadNorms::whole}};
inline constexpr Word<MlpKind> kMlps[]{{"gelu", MlpKind::gelu},           {"gelu-new", MlpKind::gelu_new},
                                       {"gelu-tanh", MlpKind::gelu_tanh}, {"relu", MlpKind::relu},
                                       {"swiglu", MlpKind::swiglu},       {"geglu-tanh", MlpKind::geglu_tanh}};
inline constexpr Word<PositionKind> kPositions[]{
    {"learned", PositionKind::learned}, {"rotary", PositionKind::rotary}, {"none", PositionKind::none}};
inline constexpr Word<Architecture> kArchitectures[]{{"gpt2", Architecture::gpt2},
                                                     {"llama", Architecture::llama},
                                                     {"mistral", Architecture::mistral},
                                                     {"qwen2", Architecture::qwen2},
                                                     {"textbook", Architecture::textbook},
                                                     {"bert", Architecture::bert},
                                                     {"roberta", Architecture::roberta},
                                                     {"distilbert", Architecture::distilbert},
                                                     {"bart", Architecture::bart},
                                                     {"qwen3", Architecture::qwen3},
                                                     {"gemma", Architecture::gemma},
                                                     {"gemma3_text", Architecture::gemma3},
                                                     {"starcoder2", Architecture::starcoder2},
                                                     {"granite", Architecture::granite},
                                                     {"olmo2", Architecture::olmo2}};

/// The first name of a value.
template <class T, std::size_t N>
std::string word_for(const Word<T> (&words)[N], T value) {
  for (const Word<T>& w : words)
    if (w.value == value) return std::string(w.name);
  return "?";
}
template <class T, std::size_t N>
std::optional<T> value_of(const Word<T> (&words)[N], std::string_view name) {
  for (const Word<T>& w : words)
    if (w.name == name) return w.value;
  return std::nullopt;
}
template <class T, std::size_t N>
std::vector<std::string> all_words(const Word<T> (&words)[N]) {
  std::vector<std::string> out;
  for (const Word<T>& w : words) out.emplace_back(w.name);
  return out;
}

/// "paged-adamw8bit"
std::string optimizer_word(const Optimizer& o);
/// Sets kind, states and paging of a name; false when there is no such name.
bool read_optimizer_word(Optimizer& o, std::string_view name);

/// "nf4,double,upcast"
std::string quant_word(const Quantisation& q);

/// "8 x 1024 tokens", with " to 128" where the target's length was given
std::string batch_word(const TrainOptions& o);

/// "chunked:8"; of a classifier with the number of its labels, "classification:2"
std::string loss_word(const LossChoice& l, std::int64_t labels);

/// "none", "per-layer", "segments:32", "sequential:4", "every:2", "first:8", "selective:attention+mlp"; with
/// ",reentrant" or ",on-host" where that is asked for.
std::string checkpoint_word(const Checkpointing& c);

struct PartWord {
  std::string_view name;
  bool RecomputedParts::*part;
};
inline constexpr PartWord kParts[]{{"attention", &RecomputedParts::attention},
                                   {"mlp", &RecomputedParts::mlp},
                                   {"activation", &RecomputedParts::activation},
                                   {"norms", &RecomputedParts::norms}};

}  // namespace vramplan
