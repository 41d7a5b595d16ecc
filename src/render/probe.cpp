#include "render/probe.h"

#include "render/document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "render/table.h"
#include "train/words.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

double overhead(const Probe& p) { return p.time->median / p.without_checkpointing->median - 1; }

std::string times(const Probe& p) {
  if (!p.time) return {};
  Table t({false, true, true, true});
  t.add({"", "median", "lower quartile", "upper quartile"});
  auto add = [&](const char* name, const ProbedTime& time) {
    t.add({name, fmt::format("{:.2f} ms", 1e3 * time.median), fmt::format("{:.2f} ms", 1e3 * time.lower),
           fmt::format("{:.2f} ms", 1e3 * time.upper)});
  };
  add("step", *p.time);
  if (p.without_checkpointing) add("without checkpointing", *p.without_checkpointing);
  std::string out = fmt::format("\nTime, {} steps:\n{}", p.time->steps, t.str());
  if (p.without_checkpointing)
    out += fmt::format("  recomputation costs {:+.1f} % of the time; {:+.1f} % of the FLOPs were predicted\n",
                       100 * overhead(p), 100 * p.predicted_overhead);
  return out;
}

std::string bitwise(const Probe& p) {
  if (p.bitwise == Bitwise::not_run) return {};
  std::string out = fmt::format("\nGradients with and without checkpointing, {} checksums: {}\n", p.gradients,
                                p.bitwise == Bitwise::equal ? "equal to the bit" : "different");
  if (!p.first_difference.empty()) out += "  first difference: " + p.first_difference + "\n";
  if (p.self_test)
    out += fmt::format("  self-test, one bit changed: {}\n", *p.self_test ? "told apart" : "NOT told apart");
  return out;
}

json time_of(const std::optional<ProbedTime>& time) {
  if (!time) return {};
  const ProbedTime& t = *time;
  return {{"median", t.median}, {"lower_quartile", t.lower}, {"upper_quartile", t.upper}, {"steps", t.steps}};
}

std::string equal_or_not(bool equal) { return equal ? "equal to the byte" : "DIFFERENT"; }

std::string tensors(const Probe& p) {
  if (p.backend == "dry") {
    Table t({false, true});
    for (const ProbedPhase& phase : p.phases) t.add({std::string(name_of(phase.phase)), format_bytes(phase.predicted)});
    return fmt::format("\nBytes of tensors, step 2:\n{}", t.str());
  }
  Table t({false, true, true, true, false});
  t.add({"phase", "predicted", "ledger", "measured", ""});
  for (const ProbedPhase& phase : p.phases)
    t.add({std::string(name_of(phase.phase)), format_bytes(phase.predicted), format_bytes(phase.ledger),
           format_bytes(phase.measured),
           equal_or_not(phase.predicted == phase.ledger && phase.ledger == phase.measured)});
  return fmt::format("\nBytes of tensors, step 2:\n{}  {} ledger events, {}\n", t.str(), p.events,
                     p.same_events ? "the same as predicted, one by one" : "NOT those predicted");
}

/// What the card's allocator and driver show, and what is on the card beside tensors.
std::string card(const Probe& p) {
  if (!p.card) return {};
  Table t({false, true, true, true, true, false, true, true});
  t.add({"phase", "allocated", "predicted", "reserved", "predicted", "", "process", "device used"});
  for (const ProbedPhase& phase : p.phases) {
    const CardPhase& c = *phase.card;
    t.add({std::string(name_of(phase.phase)), format_bytes(c.allocated), format_bytes(c.predicted_allocated),
           format_bytes(c.reserved), format_bytes(c.predicted_reserved),
           equal_or_not(c.allocated == c.predicted_allocated && c.reserved == c.predicted_reserved),
           c.process ? format_bytes(*c.process) : "not told", format_bytes(c.device_used)});
  }
  Table outside({false, true});
  for (const ProbedCard::Part& part : p.card->outside) outside.add({part.name, format_bytes(part.bytes)});
  return fmt::format("\nThe card, {}, {} free of {} before the first tensor:\n{}\nNot in the ledger:\n{}", p.card->name,
                     format_bytes(p.card->free), format_bytes(p.card->total), t.str(), outside.str());
}

json card_of(const CardPhase& c) {
  return {{"predicted_allocated", c.predicted_allocated.count()},     {"allocated", c.allocated.count()},
          {"predicted_reserved", c.predicted_reserved.count()},       {"reserved", c.reserved.count()},
          {"process", c.process ? json(c.process->count()) : json()}, {"device_used", c.device_used.count()}};
}

json card_of(const ProbedCard& c) {
  json outside = json::array();
  for (const ProbedCard::Part& part : c.outside)
    outside.push_back({{"name", part.name}, {"bytes", part.bytes.count()}});
  return {{"name", c.name},
          {"uuid", c.uuid},
          {"total", c.total.count()},
          {"free", c.free.count()},
          {"context_bytes", c.context.count()},
          {"by_process", c.by_process},
          {"outside", outside}};
}

}  // namespace

std::string probe_table(const Probe& p) {
  std::string out = p.why_not_cuda.empty() ? std::string() : fmt::format("no GPU ({}): on the host\n", p.why_not_cuda);
  const std::string where = p.backend == "dry" ? "nowhere" : p.backend == "cuda" ? "on the card" : "on the host";
  out += fmt::format("{}: {} {}, micro-batch {}, {}, checkpoint {}\n",
                     p.backend == "dry" ? "predicted"
                     : agrees(p)        ? "agrees"
                                        : "DISAGREES",
                     p.job.model.name, where, batch_word(p.job.run), word_for(kPrecisions, p.job.run.precision),
                     checkpoint_word(p.job.run.checkpoint));
  out += tensors(p) + card(p);
  if (p.backend == "host") out += fmt::format("  the process grew by {} at most\n", format_bytes(p.resident));
  if (p.backend == "dry")
    out += "  nothing was measured: this is the prediction alone; --backend host or cuda runs it\n";
  out += times(p) + bitwise(p);
  for (const std::string& w : p.warnings) out += "warning: " + w + "\n";
  return out;
}

std::string probe_json(const Probe& p) {
  json j = document("probe");
  j["backend"] = p.backend;
  j["why_not_cuda"] = p.why_not_cuda.empty() ? json() : json(p.why_not_cuda);
  j["agrees"] = p.backend == "dry" ? json() : json(agrees(p));
  j["phases"] = json::array();
  const bool ran = p.backend != "dry";
  for (const ProbedPhase& phase : p.phases)
    j["phases"].push_back({{"name", name_of(phase.phase)},
                           {"predicted", phase.predicted.count()},
                           {"ledger", ran ? json(phase.ledger.count()) : json()},
                           {"measured", ran ? json(phase.measured.count()) : json()},
                           {"card", phase.card ? card_of(*phase.card) : json()}});
  j["card"] = p.card ? card_of(*p.card) : json();
  j["events"] = {{"count", p.events}, {"same", p.same_events}};
  j["flops"] = p.flops;
  j["resident"] = p.resident.count();
  j["seconds"] = time_of(p.time);
  j["seconds_without_checkpointing"] = time_of(p.without_checkpointing);
  j["recompute"] =
      p.without_checkpointing ? json{{"time_share", overhead(p)}, {"flops_share", p.predicted_overhead}} : json();
  j["bitwise"] = name_of(p.bitwise);
  j["gradients"] = p.gradients;
  j["first_difference"] = p.first_difference.empty() ? json() : json(p.first_difference);
  j["self_test"] = p.self_test ? json(*p.self_test) : json();
  j["warnings"] = p.warnings;
  j["job"] = job_json(p.job);
  return document_text(j);
}

std::string calibration_json(const Probe& p, const std::optional<Card>& card) {
  if (!p.card || !p.card->by_process)
    throw UserError(p.card ? "the driver does not tell what this process has of the card" : "no card was measured",
                    "--write", "probe on a card, with --backend cuda", Exit::usage);
  CardPhase highest;
  for (const ProbedPhase& phase : p.phases) {
    highest.allocated = std::max(highest.allocated, phase.card->allocated);
    highest.reserved = std::max(highest.reserved, phase.card->reserved);
    highest.device_used = std::max(highest.device_used, phase.card->device_used);
  }
  json measured{{"card", p.card->name},
                {"model", p.job.model.name},
                {"micro_batch", p.job.run.micro_batch},
                {"seq", p.job.run.seq},
                {"allocated", highest.allocated.count()},
                {"reserved", highest.reserved.count()},
                {"device_used", highest.device_used.count()},
                {"seconds", p.time->median},
                {"flops_per_second", p.flops / p.time->median}};
  if (p.rates)
    measured.update({{"products_by", p.cublas ? "cublas" : "own"},
                     {"product_flops_per_second", p.rates->matrix},
                     {"copy_bytes_per_second", p.rates->memory}});
  json file{{"context_bytes", p.card->context.count()}};
  if (card && p.rates) {
    const double peak = p.rates->type == DType::fp32   ? card->tflops.fp32
                        : p.rates->type == DType::fp16 ? card->tflops.fp16
                                                       : card->tflops.bf16;
    if (card->bandwidth_gbs > 0)
      file["efficiency"]["memory"] = std::min(1.0, p.rates->memory / (card->bandwidth_gbs * 1e9));
    if (p.cublas && peak > 0) file["efficiency"]["matrix"] = std::min(1.0, p.rates->matrix / (peak * 1e12));
  }
  file["measured"] = json::array({measured});
  return file.dump(2) + "\n";
}

}  // namespace vramplan
