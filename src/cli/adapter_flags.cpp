// The flags of what is trained beside a frozen model, and of how that is stored.
#include <algorithm>

#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/run_flags.h"
#include "cli/values.h"
#include "model/projections.h"

namespace vramplan {

namespace {

/// Of a LoraConfig without target_modules (peft/utils/constants.py).
std::vector<std::string> usual_targets(const ModelConfig& model) {
  switch (model.architecture) {
    case Architecture::gpt2: return {"c_attn"};
    case Architecture::bert:
    case Architecture::roberta: return {"query", "value"};
    case Architecture::distilbert: return {"q_lin", "v_lin"};
    default: return {"q_proj", "v_proj"};
  }
}

void check_targets(const ModelConfig& model, const Lora& l) {
  std::vector<std::string> known = adapter_modules(model);
  known.emplace_back("all-linear");
  for (const std::string& target : l.targets) {
    Lora alone;
    alone.targets = {target};
    const std::vector<Projection> all = projections(model);
    const char* embedding = embedding_path(model);
    if (embedding && alone.names_module(embedding)) continue;
    if (!std::any_of(all.begin(), all.end(), [&](const Projection& p) { return alone.targets_module(p.path); }))
      throw UserError(fmt::format("'{}' is not a module of this model that can have an adapter", target),
                      "--lora targets", did_you_mean(target, known, fmt::format("known: {}", fmt::join(known, ", "))),
                      Exit::usage);
  }
}

}  // namespace

/// "r=16,targets=q_proj+v_proj,dropout=0.05,dtype=base"
Lora RunFlags::lora(const ModelConfig& model) const {
  Lora l;
  l.targets = usual_targets(model);
  for (std::string_view rest = lora_; !rest.empty();) {
    const std::string item = take_item(rest, ',');
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals), value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (key == "r") {
      l.rank = parse_count(value, "--lora r");
    } else if (key == "alpha") {
      l.alpha = number(value, "--lora alpha");
    } else if (item == "rslora") {
      l.rank_stabilised = true;
    } else if (item == "dora") {
      l.dora = true;
    } else if (key == "dropout") {
      l.dropout = number(value, "--lora dropout");
    } else if (key == "dtype") {
      l.full_precision = word(kAdapterTypes, value, "--lora dtype", true);
    } else if (key == "save") {
      for (std::string_view names = value; !names.empty();) l.saved.push_back(take_item(names, '+'));
    } else if (key == "targets") {
      l.targets.clear();
      for (std::string_view names = value; !names.empty();) l.targets.push_back(take_item(names, '+'));
    } else {
      throw UserError(fmt::format("'{}' is not a part of an adapter", item), "--lora",
                      did_you_mean(key, {"r", "targets", "alpha", "rslora", "dora", "dropout", "dtype", "save"},
                                   "write r=16,targets=q_proj+v_proj,dropout=0.05,dtype=fp32,save=lm_head"),
                      Exit::usage);
    }
  }
  check_targets(model, l);
  for (const std::string& m : l.saved)
    if (m != "embed_tokens" && m != "lm_head")
      throw UserError(fmt::format("'{}' can not be trained whole", m), "--lora save",
                      did_you_mean(m, {"embed_tokens", "lm_head"}, "known: embed_tokens, lm_head"), Exit::usage);
  return l;
}

std::optional<PromptTuning> RunFlags::prompt() const {
  if (!prompt_.empty() && !prefix_.empty())
    throw UserError("a prompt and a prefix are not trained at once", "--prefix-tuning", "give one of them",
                    Exit::usage);
  if (!prompt_.empty()) return PromptTuning{parse_count(prompt_, "--prompt-tuning")};
  if (prefix_.empty()) return std::nullopt;
  std::string_view rest = prefix_;
  PromptTuning p{parse_count(take_item(rest, ','), "--prefix-tuning"), true};
  constexpr std::string_view kProjection = "projection=";
  if (rest.starts_with(kProjection))
    p.projection = parse_count(rest.substr(kProjection.size()), "--prefix-tuning projection");
  else if (!rest.empty())
    throw UserError(fmt::format("'{}' is not a part of a prefix", rest), "--prefix-tuning", "write 20,projection=512",
                    Exit::usage);
  return p;
}

Quantisation RunFlags::quantisation() const {
  Quantisation q;
  std::string_view rest = quant_;
  q.kind = word(kQuantKinds, take_item(rest, ','), "--quant", QuantKind::nf4);
  while (!rest.empty()) {
    const std::string item = take_item(rest, ',');
    if (item != "double" && item != "upcast")
      throw UserError(fmt::format("'{}' is not a part of a quantisation", item), "--quant",
                      did_you_mean(item, {"double", "upcast"}, "write nf4,double,upcast"), Exit::usage);
    (item == "double" ? q.doubled : q.upcast) = true;
  }
  return q;
}

}  // namespace vramplan
