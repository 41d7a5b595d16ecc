#include "render/flat.h"

#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "render/csv.h"
#include "train/words.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

struct Column {
  std::string name;
  std::function<json(const Estimate&)> value;
};

json gib(Bytes b) { return std::round(static_cast<double>(b.count()) / static_cast<double>(kGiB) * 1000) / 1000; }

std::string snake(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c == ' ' || c == '-')
      out += '_';
    else if (c != '[' && c != ']')
      out += c;
  return out;
}

/// Bytes and, beside them, GiB.
void add_bytes(std::vector<Column>& columns, const std::string& name,
               const std::function<std::optional<Bytes>(const Estimate&)>& of) {
  columns.push_back({name + "_bytes", [of](const Estimate& e) {
                       const auto b = of(e);
                       return b ? json(b->count()) : json();
                     }});
  columns.push_back({name + "_gib", [of](const Estimate& e) {
                       const auto b = of(e);
                       return b ? gib(*b) : json();
                     }});
}

std::optional<Bytes> on_card(const Estimate& e, Bytes b) { return e.job.card ? std::optional(b) : std::nullopt; }

Bytes phase_peak(const Estimate& e, Phase phase) {
  for (const PhasePeak& p : e.phases)
    if (p.phase == phase) return p.peak;
  return {};
}

Bytes of_tree(const Estimate& e, std::string_view name) {
  for (const ByteRow& r : e.tree.children)
    if (r.name == name) return r.bytes;
  return {};
}

void add_settings(std::vector<Column>& c) {
  c.push_back({"model", [](const Estimate& e) { return json(e.job.model.name); }});
  c.push_back({"gpu", [](const Estimate& e) { return e.job.card ? json(e.job.card->id) : json(); }});
  c.push_back({"micro_batch", [](const Estimate& e) { return json(e.job.run.micro_batch); }});
  c.push_back({"seq", [](const Estimate& e) { return json(e.job.run.seq); }});
  c.push_back({"target_seq",
               [](const Estimate& e) { return e.job.model.two_stacks() ? json(target_length(e.job.run)) : json(); }});
  c.push_back({"accumulate", [](const Estimate& e) { return json(e.job.run.accumulate); }});
  c.push_back({"precision", [](const Estimate& e) { return json(word_for(kPrecisions, e.job.run.precision)); }});
  c.push_back({"optimizer", [](const Estimate& e) { return json(optimizer_word(e.job.run.optimizer)); }});
  c.push_back({"optimizer_form", [](const Estimate& e) { return json(word_for(kForms, e.job.run.optimizer.form)); }});
  c.push_back({"attention", [](const Estimate& e) { return json(word_for(kAttentions, e.job.run.attention)); }});
  c.push_back({"checkpoint", [](const Estimate& e) { return json(checkpoint_word(e.job.run.checkpoint)); }});
  c.push_back({"loss", [](const Estimate& e) { return json(loss_word(e.job.run.loss, e.job.model.labels)); }});
  c.push_back({"lora_r", [](const Estimate& e) { return e.job.run.lora ? json(e.job.run.lora->rank) : json(); }});
  c.push_back(
      {"quant", [](const Estimate& e) { return e.job.run.quant ? json(quant_word(*e.job.run.quant)) : json(); }});
  c.push_back({"allocator", [](const Estimate& e) { return json(e.job.allocator); }});
  c.push_back({"parameters", [](const Estimate& e) { return json(e.parameters); }});
  c.push_back({"trainable", [](const Estimate& e) { return json(e.trainable); }});
}

void add_results(std::vector<Column>& c) {
  c.push_back({"verdict", [](const Estimate& e) { return json(name_of(e.verdict)); }});
  c.push_back({"confidence", [](const Estimate& e) { return json(name_of(confidence_of(e.job))); }});
  c.push_back({"margin_bytes", [](const Estimate& e) { return e.job.card ? json(e.margin) : json(); }});
  add_bytes(c, "allocated", [](const Estimate& e) { return std::optional(e.counters.allocated); });
  add_bytes(c, "reserved", [](const Estimate& e) { return std::optional(e.counters.reserved); });
  add_bytes(c, "device_used", [](const Estimate& e) { return std::optional(e.counters.device_used); });
  add_bytes(c, "capacity", [](const Estimate& e) { return on_card(e, e.counters.capacity); });
  add_bytes(c, "uncertainty", [](const Estimate& e) { return std::optional(e.uncertainty); });
  add_bytes(c, "held", [](const Estimate& e) { return std::optional(e.held); });
  add_bytes(c, "peak", [](const Estimate& e) { return std::optional(e.peak); });
  c.push_back({"peak_phase", [](const Estimate& e) { return json(name_of(e.peak_phase)); }});
  add_bytes(c, "peak_without_checkpointing", [](const Estimate& e) {
    return e.without_checkpointing ? std::optional(e.without_checkpointing->peak) : std::nullopt;
  });
  c.push_back({"step_seconds", [](const Estimate& e) { return e.time ? json(e.time->total()) : json(); }});
  c.push_back({"tokens_per_second", [](const Estimate& e) { return e.time ? json(e.time->tokens_a_second) : json(); }});
}

std::vector<Column> make_columns() {
  std::vector<Column> c;
  add_settings(c);
  add_results(c);
  for (std::size_t p = 0; p < kPhaseNames.size(); ++p)
    add_bytes(c, fmt::format("phase_{}", kPhaseNames[p]),
              [p](const Estimate& e) { return std::optional(phase_peak(e, static_cast<Phase>(p))); });
  for (const std::string_view name : kCategoryNames)
    add_bytes(c, "at_peak_" + snake(name), [name](const Estimate& e) { return std::optional(of_tree(e, name)); });
  for (const std::string_view name : {"[rounding to 512-byte blocks]", "[cublas workspace]", "[kernel scratch]",
                                      "[allocator slack]", "[cuda context]"})
    add_bytes(c, "at_peak_" + snake(name), [name](const Estimate& e) { return std::optional(of_tree(e, name)); });
  c.push_back({"warnings", [](const Estimate& e) { return json(fmt::format("{}", fmt::join(e.warnings, "; "))); }});
  c.push_back({"attention_kernel", [](const Estimate& e) {
                 std::vector<std::string> names;
                 names.reserve(e.attention_kernels.size());
                 for (const AttentionKernel& k : e.attention_kernels) names.push_back(k.name);
                 return json(fmt::format("{}", fmt::join(names, "+")));
               }});
  return c;
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = make_columns();
  return all;
}

std::string cell(const json& v) {
  if (v.is_null()) return {};
  return v.is_string() ? csv_text(v.get_ref<const std::string&>()) : v.dump();
}

}  // namespace

std::vector<std::string> flat_columns() {
  std::vector<std::string> out;
  out.reserve(columns().size());
  for (const Column& c : columns()) out.push_back(c.name);
  return out;
}

std::vector<json> flat_values(const Estimate& e) {
  std::vector<json> out;
  out.reserve(columns().size());
  for (const Column& c : columns()) out.push_back(c.value(e));
  return out;
}

std::string flat_csv_header() { return fmt::format("{}", fmt::join(flat_columns(), ",")); }

std::string flat_csv_row(const std::vector<json>& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + cell(values[i]);
  return out;
}

std::string flat_json(const Estimate& e) {
  return flat_object(flat_values(e)).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json flat_object(const std::vector<json>& values) {
  json j;
  for (std::size_t i = 0; i < values.size(); ++i) j[columns()[i].name] = values[i];
  return j;
}

}  // namespace vramplan
