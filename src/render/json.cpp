#include "render/json.h"

#include <fmt/format.h>

#include "render/advice.h"
#include "render/document.h"

#include <nlohmann/json.hpp>

#include "train/words.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

json tree_of(const ByteRow& row) {
  json j{{"name", row.name}, {"bytes", row.bytes.count()}};
  for (const ByteRow& c : row.children) j["children"].push_back(tree_of(c));
  return j;
}

/// [size, 1 or 0: used or free] for each block of each segment.
json segments_of(const Estimate& e) {
  json list = json::array();
  for (const SegmentMap& s : e.segments) {
    json blocks = json::array();
    for (const SegmentMap::Block& b : s.blocks) blocks.push_back({b.size.count(), b.used ? 1 : 0});
    list.push_back({{"pool", s.small ? "small" : "large"}, {"blocks", std::move(blocks)}});
  }
  return list;
}

json categories_of(const Estimate& e) {
  json j = json::object();
  for (const ByteRow& c : e.tree.children)
    if (!c.name.starts_with('[')) j[c.name] = c.bytes.count();
  return j;
}

json tensors_of(const Estimate& e) {
  json list = json::array();
  for (const PeakTensor& t : e.tensors) {
    json j{{"name", t.name},   {"category", name_of(t.category)}, {"dtype", t.dtype}, {"shape", t.shape},
           {"count", t.count}, {"bytes", t.bytes.count()}};
    if (t.first_layer >= 0) j["layers"] = {t.first_layer, t.last_layer};
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

std::string estimate_json(const Estimate& e) {
  json j = document("estimate");
  j["verdict"] = name_of(e.verdict);
  j["margin"] = e.job.card ? json(e.margin) : json();
  j["uncertainty"] = {{"bytes", e.uncertainty.count()}, {"parts", json::array()}};
  for (const ByteRow& r : e.uncertainty_parts) j["uncertainty"]["parts"].push_back(tree_of(r));
  j["counters"] = {{"allocated", e.counters.allocated.count()},
                   {"reserved", e.counters.reserved.count()},
                   {"device_used", e.counters.device_used.count()},
                   {"capacity", e.job.card ? json(e.counters.capacity.count()) : json()}};
  j["capacity"] = json::array();
  for (const CapacityLink& l : e.capacity)
    j["capacity"].push_back({{"name", l.name}, {"bytes", l.bytes.count()}, {"origin", l.origin}});
  j["model"] = {{"name", e.job.model.name}, {"parameters", e.parameters}, {"trainable", e.trainable}};
  j["states"] = e.states.count();
  j["host"] = e.host.count();
  j["held"] = e.held.count();
  j["logits"] = e.logits ? json{{"tokens", e.logits->tokens},           {"width", e.logits->width},
                                {"largest", e.logits->largest.count()}, {"together", e.logits->together.count()},
                                {"phase", name_of(e.logits->phase)},    {"at_peak", e.logits->at_peak.count()}}
                         : json();
  j["phases"] = json::array();
  for (const PhasePeak& p : e.phases) j["phases"].push_back({{"name", name_of(p.phase)}, {"peak", p.peak.count()}});
  j["peak"] = {{"phase", name_of(e.peak_phase)},
               {"bytes", e.peak.count()},
               {"categories", categories_of(e)},
               {"tensors", tensors_of(e)}};
  j["first_step"] = {{"peak", e.first_step.peak.count()},
                     {"allocated", e.first_step.allocated.count()},
                     {"reserved", e.first_step.reserved.count()}};
  j["tree"] = tree_of(e.tree);
  if (!e.segments.empty()) j["segments"] = segments_of(e);
  j["without_checkpointing"] = e.without_checkpointing ? json{{"peak", e.without_checkpointing->peak.count()},
                                                              {"held", e.without_checkpointing->held.count()}}
                                                       : json();
  j["attention_kernels"] = json::array();
  for (const AttentionKernel& k : e.attention_kernels)
    j["attention_kernels"].push_back({{"name", k.name}, {"passed_over", k.passed_over}});
  j["recompute"] = {{"flops", e.recompute_flops},
                    {"flops_share", e.step_flops > 0 ? e.recompute_flops / (e.step_flops - e.recompute_flops) : 0.0}};
  j["time"] = e.time ? json{{"forward", e.time->forward},   {"recompute", e.time->recompute},
                            {"backward", e.time->backward}, {"optimizer", e.time->optimizer},
                            {"step", e.time->total()},      {"tokens_per_second", e.time->tokens_a_second},
                            {"card", e.time->card}}
                     : json();
  j["confidence"] = name_of(confidence_of(e.job));
  j["assumptions"] = e.assumptions;
  j["warnings"] = e.warnings;
  j["advice"] = e.advice ? advice_json(*e.advice) : json();
  j["job"] = job_json(e.job);
  return document_text(j);
}

std::string explain_json(const Explanation& e) {
  json j = document("explain");
  j["model"] = {{"name", e.job.model.name}, {"parameters", e.parameters}};
  j["formulas"] = json::array();
  for (const FormulaRow& r : e.rows)
    j["formulas"].push_back({{"name", r.name},
                             {"formula", r.formula},
                             {"numbers", r.numbers},
                             {"bytes", r.value.count()},
                             {"found", r.found ? json(r.found->count()) : json()},
                             {"why", r.why}});
  j["recompute"] = json::array();
  for (const ShareRow& r : e.recompute)
    j["recompute"].push_back({{"name", r.name},
                              {"formula", r.formula},
                              {"numbers", r.numbers},
                              {"share", r.value},
                              {"found", r.found},
                              {"why", r.why}});
  j["job"] = job_json(e.job);
  return document_text(j);
}

std::string validate_json(const std::vector<ValidatedGroup>& groups,
                          const std::optional<std::vector<WorstCase>>& worst) {
  json j = document("validate");
  j["groups"] = json::array();
  for (const ValidatedGroup& g : groups) {
    json rows = json::array();
    for (const ValidatedCase& c : g.rows) {
      json row{{"id", c.id}, {"expressed", c.not_expressed.empty()}};
      if (!c.not_expressed.empty())
        row["why"] = c.not_expressed;
      else
        row.update({{"exact", c.exact},
                    {"held_exact", c.held_exact},
                    {"parameters_exact", c.parameters_exact},
                    {"error", c.worst},
                    {"where", c.worst_where}});
      rows.push_back(std::move(row));
    }
    j["groups"].push_back({{"name", g.name},
                           {"cases", g.cases},
                           {"expressed", g.expressed},
                           {"parameters_exact", g.parameters_exact},
                           {"held_exact", g.held_exact},
                           {"exact", g.exact},
                           {"median", g.median},
                           {"p95", g.p95},
                           {"worst", g.worst},
                           {"bias", g.bias},
                           {"within_bounds", within_bounds(g)},
                           {"rows", std::move(rows)}});
  }
  j["not_expressed"] = json::array();
  for (const auto& [why, cases] : reasons_not_expressed(groups))
    j["not_expressed"].push_back({{"why", why}, {"cases", cases}});
  if (!worst) return document_text(j);
  j["rows"] = json::array();
  for (const auto& [group, c] : *worst)
    j["rows"].push_back({{"id", c.id},
                         {"group", group},
                         {"error", c.worst},
                         {"where", c.worst_where},
                         {"found", c.found.count()},
                         {"expected", c.expected.count()},
                         {"differing", c.differing}});
  return document_text(j);
}

namespace {

/// "8.0"; empty for a card without CUDA.
std::string capability_text(const Card& c) {
  return c.compute_capability > 0 ? fmt::format("{}.{}", c.compute_capability / 10, c.compute_capability % 10)
                                  : std::string();
}

}  // namespace

std::string cards_json(const std::vector<Card>& cards) {
  json j = document("gpus");
  j["gpus"] = json::array();
  for (const Card& c : cards)
    j["gpus"].push_back(
        {{"id", c.id},
         {"name", c.name},
         {"vendor", c.vendor},
         {"architecture", c.architecture},
         {"class", c.category},
         {"launch_year", c.launch_year},
         {"memory_bytes", c.nominal.count()},
         {"usable", c.usable.count()},
         {"usable_basis", c.usable_basis},
         {"bandwidth_gbs", c.bandwidth_gbs},
         {"bf16_tflops", c.tflops.bf16},
         {"tflops",
          {{"fp32", c.tflops.fp32}, {"fp16", c.tflops.fp16}, {"bf16", c.tflops.bf16}, {"int8", c.tflops.int8}}},
         {"compute_capability", capability_text(c)},
         {"multiprocessors", c.multiprocessors},
         {"driver_total", c.driver_total.count()},
         {"driver_total_basis", c.driver_basis},
         {"l2", c.l2.count()},
         {"memory_bus_bits", c.bus_bits},
         {"boost_mhz", c.clock_mhz},
         {"status", c.custom ? "custom" : "sold"},
         {"note", c.note}});
  return document_text(j);
}

std::string card_facts_json(const std::vector<CardFact>& facts) {
  json j = document("gpu");
  j["fields"] = json::array();
  for (const CardFact& f : facts)
    j["fields"].push_back({{"name", f.field}, {"value", f.value}, {"unit", f.unit}, {"source", f.source}});
  return document_text(j);
}

std::string models_json(const std::vector<ModelLine>& models) {
  json j = document("models");
  j["models"] = json::array();
  for (const ModelLine& m : models) {
    json row = model_json(m.config);
    row["name"] = m.name;
    row["parameters"] = parameter_count(m.config);
    j["models"].push_back(std::move(row));
  }
  return document_text(j);
}

std::string error_json(const UserError& e) {
  json j = document("error");
  j["error"] = {{"code", static_cast<int>(e.status)}, {"message", e.what()}, {"where", e.where}, {"hint", e.hint}};
  return document_text(j);
}

}  // namespace vramplan
