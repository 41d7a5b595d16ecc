#include "train/words.h"

#include <fmt/format.h>

namespace vramplan {

std::string optimizer_word(const Optimizer& o) { return word_for(kOptimizers, {o.kind, o.states, o.paged}); }

bool read_optimizer_word(Optimizer& o, std::string_view name) {
  const auto w = value_of(kOptimizers, name);
  if (w) o.kind = w->kind, o.states = w->states, o.paged = w->paged;
  return w.has_value();
}

std::string quant_word(const Quantisation& q) {
  return word_for(kQuantKinds, q.kind) + (q.doubled ? ",double" : "") + (q.upcast ? ",upcast" : "");
}

std::string batch_word(const TrainOptions& o) {
  return fmt::format("{} x {} tokens{}", o.micro_batch, o.seq,
                     o.target_seq > 0 ? fmt::format(" to {}", o.target_seq) : "");
}

std::string loss_word(const LossChoice& l, std::int64_t labels) {
  const std::string form = word_for(kLosses, l.form);
  return l.form == LossForm::chunked ? fmt::format("{}:{}", form, l.chunks)
         : classifies(l.form)        ? fmt::format("{}:{}", form, labels)
                                     : form;
}

namespace {

std::string runs_word(const std::vector<std::int64_t>& runs) {
  std::string out;
  for (const std::int64_t n : runs)
    out += (out.empty() ? "" : "+") + (n < 0 ? fmt::format("plain{}", -n) : fmt::format("{}", n));
  return out;
}

}  // namespace

std::string checkpoint_word(const Checkpointing& c) {
  const char* variant = c.on_host ? ",on-host" : c.reentrant ? ",reentrant" : "";
  switch (c.kind) {
    case CheckpointKind::none: return "none";
    case CheckpointKind::per_layer: return fmt::format("per-layer{}", variant);
    case CheckpointKind::segments: return fmt::format("segments:{}{}", c.n, variant);
    case CheckpointKind::sequential: return fmt::format("sequential:{}{}", c.n, variant);
    case CheckpointKind::every: return fmt::format("every:{}{}", c.n, variant);
    case CheckpointKind::first: return fmt::format("first:{}{}", c.n, variant);
    case CheckpointKind::cuts: return fmt::format("cuts:{}{}", runs_word(c.runs), variant);
    case CheckpointKind::selective: break;
  }
  std::string parts;
  for (const PartWord& p : kParts)
    if (c.parts.*p.part) parts += (parts.empty() ? "" : "+") + std::string(p.name);
  return "selective:" + parts;
}

}  // namespace vramplan
