#include "render/probe.h"

#include "render/document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "render/table.h"
#include "train/words.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

double overhead(const Probe& p) { return p.time.median / p.without_checkpointing->median - 1; }

std::string times(const Probe& p) {
  Table t({false, true, true, true});
  t.add({"", "median", "lower quartile", "upper quartile"});
  auto add = [&](const char* name, const ProbedTime& time) {
    t.add({name, fmt::format("{:.2f} ms", 1e3 * time.median), fmt::format("{:.2f} ms", 1e3 * time.lower),
           fmt::format("{:.2f} ms", 1e3 * time.upper)});
  };
  add("step", p.time);
  if (p.without_checkpointing) add("without checkpointing", *p.without_checkpointing);
  std::string out = fmt::format("\nTime, {} steps:\n{}", p.time.steps, t.str());
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

json time_of(const ProbedTime& t) {
  return {{"median", t.median}, {"lower_quartile", t.lower}, {"upper_quartile", t.upper}, {"steps", t.steps}};
}

}  // namespace

std::string probe_table(const Probe& p) {
  Table t({false, true, true, true, false});
  t.add({"phase", "predicted", "ledger", "measured", ""});
  for (const ProbedPhase& phase : p.phases)
    t.add({std::string(name_of(phase.phase)), format_bytes(phase.predicted), format_bytes(phase.ledger),
           format_bytes(phase.measured),
           phase.predicted == phase.ledger && phase.ledger == phase.measured ? "equal to the byte" : "DIFFERENT"});
  return fmt::format(
      "{}: {} on the {}, micro-batch {} x {} tokens, {}, checkpoint {}\n\nBytes of tensors, step 2:\n{}"
      "  {} ledger events, {}\n  the process grew by {} at most\n{}{}",
      agrees(p) ? "agrees" : "DISAGREES", p.job.model.name, p.backend, p.job.run.micro_batch, p.job.run.seq,
      word_for(kPrecisions, p.job.run.precision), checkpoint_word(p.job.run.checkpoint), t.str(), p.events,
      p.same_events ? "the same as predicted, one by one" : "NOT those predicted", format_bytes(p.resident), times(p),
      bitwise(p));
}

std::string probe_json(const Probe& p) {
  json j = document("probe");
  j["backend"] = p.backend;
  j["agrees"] = agrees(p);
  j["phases"] = json::array();
  for (const ProbedPhase& phase : p.phases)
    j["phases"].push_back({{"name", name_of(phase.phase)},
                           {"predicted", phase.predicted.count()},
                           {"ledger", phase.ledger.count()},
                           {"measured", phase.measured.count()}});
  j["events"] = {{"count", p.events}, {"same", p.same_events}};
  j["resident"] = p.resident.count();
  j["seconds"] = time_of(p.time);
  j["seconds_without_checkpointing"] = p.without_checkpointing ? time_of(*p.without_checkpointing) : json();
  j["recompute"] =
      p.without_checkpointing ? json{{"time_share", overhead(p)}, {"flops_share", p.predicted_overhead}} : json();
  j["bitwise"] = name_of(p.bitwise);
  j["gradients"] = p.gradients;
  j["first_difference"] = p.first_difference.empty() ? json() : json(p.first_difference);
  j["self_test"] = p.self_test ? json(*p.self_test) : json();
  j["job"] = job_json(p.job);
  return document_text(j);
}

}  // namespace vramplan
