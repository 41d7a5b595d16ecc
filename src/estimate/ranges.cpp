#include "estimate/ranges.h"

#include <fmt/format.h>

#include "vramplan/base/bytes.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

struct CountRange {
  const char* flag;
  const char* what;
  std::int64_t least, most;
  const char* hint;
  std::optional<std::int64_t> (*value)(const Job&);  ///< nothing where the job has no such setting
};
using Count = std::optional<std::int64_t>;
constexpr std::int64_t kMillion = 1 << 20;
constexpr CountRange kCounts[]{
    {"--micro-batch", "the micro-batch", 1, 1 << 24, "give the sequences one card takes at a time",
     [](const Job& j) -> Count { return j.run.micro_batch; }},
    {"--seq", "the sequence length", 1, INT64_MAX, "give tokens per sequence: --seq 2048",
     [](const Job& j) -> Count { return j.run.seq; }},
    {"--target-seq", "the length of a target", 0, INT64_MAX, "leave it out for targets as long as their sources",
     [](const Job& j) -> Count { return j.run.target_seq; }},
    {"--accumulate", "micro-batches per step", 1, 100000, "1 means no accumulation",
     [](const Job& j) -> Count { return j.run.accumulate; }},
    {"--score-copies", "copies of the probabilities", 0, 8, "0 keeps what the model's code keeps",
     [](const Job& j) -> Count { return j.run.score_copies; }},
    {"--lora", "the rank of an adapter", 1, kMillion, "for example r=16",
     [](const Job& j) { return j.run.lora ? Count(j.run.lora->rank) : Count(); }},
    {"--prompt-tuning", "virtual tokens", 1, kMillion, "for example --prompt-tuning 20",
     [](const Job& j) { return j.run.prompt && !j.run.prompt->prefix ? Count(j.run.prompt->tokens) : Count(); }},
    {"--prefix-tuning", "virtual tokens", 1, kMillion, "for example --prefix-tuning 20",
     [](const Job& j) { return j.run.prompt && j.run.prompt->prefix ? Count(j.run.prompt->tokens) : Count(); }},
    {"--prefix-tuning projection", "the width of the projection", 0, kMillion, "for example 20,projection=512",
     [](const Job& j) { return j.run.prompt ? Count(j.run.prompt->projection) : Count(); }}};

struct NumberRange {
  const char* flag;
  const char* what;
  double least, most;
  bool with_least, with_most;  ///< whether the ends belong to the range
  std::optional<double> (*value)(const Job&);
};
using Number = std::optional<double>;
constexpr NumberRange kNumbers[]{
    {"--dropout", "a dropout", 0, 1, true, false, [](const Job& j) -> Number { return j.model.embedding_dropout; }},
    {"--dropout", "a dropout", 0, 1, true, false, [](const Job& j) -> Number { return j.model.attention_dropout; }},
    {"--dropout", "a dropout", 0, 1, true, false, [](const Job& j) -> Number { return j.model.residual_dropout; }},
    {"--dropout", "a dropout", 0, 1, true, false, [](const Job& j) -> Number { return j.model.activation_dropout; }},
    {"--dropout", "a dropout", 0, 1, true, false, [](const Job& j) -> Number { return j.model.classifier_dropout; }},
    {"--lora dropout", "the dropout of an adapter", 0, 1, true, false,
     [](const Job& j) { return j.run.lora ? Number(j.run.lora->dropout) : Number(); }},
    {"--lora alpha", "the alpha of an adapter", 0, 1e6, true, true,
     [](const Job& j) { return j.run.lora ? Number(j.run.lora->alpha) : Number(); }},
    {"--clip", "the norm that gradients are clipped to", 0, 1e9, false, true,
     [](const Job& j) { return j.run.clip ? Number(*j.run.clip) : Number(); }},
    {"--momentum", "momentum", 0, 1, true, true, [](const Job& j) -> Number { return j.run.optimizer.momentum; }},
    {"--weight-decay", "weight decay", 0, 100, true, true,
     [](const Job& j) -> Number { return j.run.optimizer.weight_decay; }},
    {"--memory-fraction", "a fraction of the card", 0, 1, false, true,
     [](const Job& j) -> Number { return j.memory_fraction; }}};

/// Comparisons with nan are false.
bool inside(const NumberRange& r, double v) {
  return (r.with_least ? v >= r.least : v > r.least) && (r.with_most ? v <= r.most : v < r.most);
}

std::string words_of(const CountRange& r) {
  if (r.most == INT64_MAX) return fmt::format("at least {}", r.least);
  return fmt::format("{} to {}", r.least, format_count(r.most));
}

}  // namespace

void check_ranges(const Job& job) {
  for (const CountRange& r : kCounts)
    if (const Count v = r.value(job); v && (*v < r.least || *v > r.most))
      throw UserError(fmt::format("{} must be {}, not {}", r.what, words_of(r), *v), r.flag, r.hint, Exit::usage);
  for (const NumberRange& r : kNumbers)
    if (const Number v = r.value(job); v && !inside(r, *v))
      throw UserError(fmt::format("{} must be {} {} {} {}, not {}", r.what, r.with_least ? "at least" : "above",
                                  r.least, r.with_most ? "and at most" : "and below", r.most, *v),
                      r.flag, "give a number in this range, or leave it out", Exit::usage);
}

}  // namespace vramplan
