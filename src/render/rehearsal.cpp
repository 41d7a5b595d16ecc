#include "render/rehearsal.h"

#include "render/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kPlaces = 12, kSteps = 4;

std::string devices_table(const Rehearsal& r) {
  const auto rows = device_rows(r);
  Table t(std::vector<bool>(rows.front().size(), true));
  for (const auto& row : rows) t.add(row);
  return t.str();
}

std::string collectives_line(const RehearsedDevice& d) {
  if (d.collectives == Bytes()) return {};
  return fmt::format("Of device used, {} are NCCL's buffers: a stated default, 0.3 to 1.5 GiB a group were seen\n",
                     format_bytes(d.collectives));
}

std::string steps_table(const RehearsedDevice& d) {
  if (d.steps.empty()) return {};
  Table t({true, true, true});
  t.add({"step", "allocated", "reserved"});
  for (std::size_t i = 0; i < std::min(kSteps, d.steps.size()); ++i)
    t.add({std::to_string(i + 1), format_bytes(d.steps[i].allocated), format_bytes(d.steps[i].reserved)});
  return "\nPeaks by optimizer step:\n" + t.str() +
         (d.steps.size() > kSteps ? fmt::format("  {} more in --json\n", d.steps.size() - kSteps) : "");
}

std::string places_table(const RehearsedProcess& p) {
  if (p.places.empty()) return {};
  std::map<std::string, Bytes> kinds;
  for (const RehearsedPlace& place : p.places) kinds[place.kind] += place.bytes;
  std::vector<std::pair<std::string, Bytes>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Table sums({false, true});
  for (const auto& [kind, bytes] : sorted) sums.add({kind, format_bytes(bytes)});
  Table t({true, true, false, false});
  t.add({"bytes", "tensors", "kind", "line"});
  for (std::size_t i = 0; i < std::min(kPlaces, p.places.size()); ++i) {
    const RehearsedPlace& place = p.places[i];
    t.add({format_bytes(place.bytes), std::to_string(place.count), place.kind, shortened_place(place.place)});
  }
  return "\nAlive at the peak of allocated memory:\n" + sums.str() + "\nBy the line that allocated:\n" + t.str() +
         (p.places.size() > kPlaces ? fmt::format("  {} more in --json\n", p.places.size() - kPlaces) : "");
}

std::string comparison(const Rehearsal& r, const PredictedRun& predicted) {
  Table t({false, true, true, true});
  t.add({"", "rehearsed", "estimate", "off by"});
  for (const RehearsalGap& g : gaps_of(r, predicted))
    t.add({g.name, format_bytes(g.rehearsed), format_bytes(g.predicted), fmt::format("{:+.3f} %", 100 * share_of(g))});
  const std::vector<RehearsalGap> kinds = gaps_by_kind(r, predicted);
  if (!kinds.empty()) t.add({"at the peak:", "", "", ""});
  for (const RehearsalGap& g : kinds)
    t.add({"  " + g.name, format_bytes(g.rehearsed), format_bytes(g.predicted),
           g.rehearsed == g.predicted ? ""
                                      : fmt::format("{:+} B", static_cast<std::int64_t>(g.predicted.count()) -
                                                                  static_cast<std::int64_t>(g.rehearsed.count()))});
  return "\nBeside 'vramplan estimate' with the same flags, in step 2:\n" + t.str();
}

json timeline_json(const Timeline& t) {
  json j{{"events", t.events}, {"samples", json::array()}};
  for (const TimelineSample& s : t.samples) {
    json sample{{"event", s.event}, {"phase", name_of(s.phase)}, {"live", s.live.count()}};
    for (std::size_t c = 0; c < s.by_category.size(); ++c)
      if (s.by_category[c] > Bytes()) sample["categories"][std::string(kCategoryNames[c])] = s.by_category[c].count();
    j["samples"].push_back(std::move(sample));
  }
  return j;
}

json step_json(const RehearsedStep& s) {
  json j{{"allocated", s.allocated.count()}, {"reserved", s.reserved.count()}, {"phases", json::array()}};
  for (const RehearsedPhase& p : s.phases)
    j["phases"].push_back({{"name", p.name}, {"allocated", p.allocated.count()}, {"reserved", p.reserved.count()}});
  return j;
}

json device_json(const RehearsedDevice& d) {
  json j{{"device", d.device},
         {"allocated", d.allocated.count()},
         {"reserved", d.reserved.count()},
         {"inactive_split", d.inactive_split.count()},
         {"device_used", d.device_used.count()},
         {"collectives", d.collectives.count()},
         {"retries", d.retries},
         {"refusals", d.refusals},
         {"steps", json::array()}};
  for (const RehearsedStep& s : d.steps) j["steps"].push_back(step_json(s));
  return j;
}

/// Null: there is none.
json verdict_json(const Rehearsal& r) {
  return r.verdict == Verdict::unknown ? json() : json(std::string(name_of(r.verdict)));
}

json process_json(const RehearsedProcess& p) {
  json j{{"pid", p.pid},
         {"rank", p.rank},
         {"torch", p.torch},
         {"optimizer_steps", p.steps},
         {"out_of_memory", p.out_of_memory},
         {"devices", json::array()},
         {"places", json::array()},
         {"reads", json::array()},
         {"timeline", p.timeline.samples.empty() ? json() : timeline_json(p.timeline)},
         {"unanswered_calls", p.unanswered},
         {"workspaces_taken_as_none", p.workspaces},
         {"steps_on_card", p.steps_on_card},
         {"ended", p.ended},
         {"zero_reads", p.zero_reads}};
  for (const RehearsedDevice& d : p.devices) j["devices"].push_back(device_json(d));
  for (const RehearsedRead& read : p.reads) j["reads"].push_back({{"place", read.place}, {"count", read.count}});
  for (const RehearsedPlace& place : p.places)
    j["places"].push_back({{"kind", place.kind},
                           {"place", place.place},
                           {"during", place.during},
                           {"bytes", place.bytes.count()},
                           {"count", place.count}});
  return j;
}

}  // namespace

std::string_view verdict_word(const Rehearsal& r) {
  return r.verdict == Verdict::unknown ? "no verdict" : name_of(r.verdict);
}

std::string rehearsal_headline(const Rehearsal& r) {
  if (r.verdict == Verdict::unknown)
    return fmt::format("no verdict: {}\n", r.missing.empty() ? "nothing was seen" : r.missing.front());
  if (r.verdict == Verdict::does_not_fit)
    return fmt::format("does not fit: PyTorch ran out of memory on {}, of which {} are usable\n", r.card.name,
                       format_bytes(r.counters.capacity));
  return fmt::format("{}: {} of {} used on {}, margin {:+.2f} GiB\n", name_of(r.verdict),
                     format_bytes(r.counters.device_used), format_bytes(r.counters.capacity), r.card.name,
                     static_cast<double>(r.margin) / static_cast<double>(kGiB));
}

std::vector<std::vector<std::string>> device_rows(const Rehearsal& r) {
  std::vector<std::vector<std::string>> rows{
      {"rank", "device", "allocated", "reserved", "inactive split", "device used", "steps", "retries"}};
  for (const RehearsedProcess& p : r.processes)
    for (const RehearsedDevice& d : p.devices)
      rows.push_back({std::to_string(p.rank), std::to_string(d.device), format_bytes(d.allocated),
                      format_bytes(d.reserved), format_bytes(d.inactive_split), format_bytes(d.device_used),
                      std::to_string(p.steps), std::to_string(d.retries)});
  return rows;
}

std::string shortened_place(const std::string& place) {
  constexpr std::string_view kPackages = "/site-packages/";
  const std::size_t at = place.find(kPackages);
  return at == std::string::npos ? place : place.substr(at + kPackages.size());
}

/// The worst device's second step where it had one.
std::vector<RehearsalGap> gaps_of(const Rehearsal& r, const PredictedRun& predicted) {
  const auto worst = worst_device(r);
  RehearsedStep step{r.counters.allocated, r.counters.reserved, {}};
  if (worst && worst->device->steps.size() > 1) step = worst->device->steps[1];
  const Counters& c = predicted.estimate.counters;
  std::vector<RehearsalGap> gaps{{"allocated", step.allocated, c.allocated},
                                 {"reserved", step.reserved, c.reserved},
                                 {"device used", r.counters.device_used, c.device_used}};
  for (const RehearsedPhase& p : step.phases)
    for (const RehearsedPhase& q : predicted.phases)
      if (p.name == q.name) {
        gaps.push_back({p.name + " allocated", p.allocated, q.allocated});
        gaps.push_back({p.name + " reserved", p.reserved, q.reserved});
      }
  return gaps;
}

std::vector<RehearsalGap> gaps_by_kind(const Rehearsal& r, const PredictedRun& predicted) {
  // Lines of the program tell less than an estimate's categories: these are the same to them.
  static const std::map<std::string_view, const char*> kKinds{{"parameter", "weights"},
                                                              {"master weight", "weights"},
                                                              {"gradient", "gradients"},
                                                              {"optimizer state", "optimizer states"},
                                                              {"activation", "activations"},
                                                              {"boundary", "activations"},
                                                              {"temporary", "activations"},
                                                              {"input", "activations"},
                                                              {"recomputed activation", "recomputed activations"},
                                                              {"activation gradient", "activation gradients"}};
  const auto worst = worst_device(r);
  if (!worst || worst->process->places.empty()) return {};
  std::map<std::string, RehearsalGap> kinds;
  for (const RehearsedPlace& p : worst->process->places)
    kinds[p.kind == "temporaries" ? "activations" : p.kind].rehearsed += p.bytes;
  for (const ByteRow& row : predicted.estimate.tree.children)
    if (const auto kind = kKinds.find(row.name); kind != kKinds.end())
      kinds[kind->second].predicted += row.bytes;
    else if (row.name == "[cublas workspace]" || row.name == "[kernel scratch]")
      kinds["workspaces"].predicted += row.bytes;
  std::vector<RehearsalGap> out;
  for (auto& [name, gap] : kinds)
    if (gap.rehearsed > Bytes() || gap.predicted > Bytes())
      out.push_back({name == "activations" ? "activations and temporaries" : name, gap.rehearsed, gap.predicted});
  return out;
}

double share_of(const RehearsalGap& g) {
  const double real = static_cast<double>(g.rehearsed.count());
  return real > 0 ? static_cast<double>(g.predicted.count()) / real - 1 : 0;
}

std::string rehearsal_table(const Rehearsal& r, const std::optional<PredictedRun>& predicted) {
  const auto worst = worst_device(r);
  const RehearsedProcess* const process = worst ? worst->process : nullptr;
  std::string out = fmt::format("{}  {}: exit status {}{}\n", rehearsal_headline(r), fmt::join(r.command, " "),
                                r.status, process && !process->torch.empty() ? ", PyTorch " + process->torch : "");
  if (worst) {
    out += "\n" + devices_table(r) + collectives_line(*worst->device) + steps_table(*worst->device) +
           places_table(*process);
    if (!process->out_of_memory.empty()) out += "\n" + process->out_of_memory + "\n";
    if (predicted) out += comparison(r, *predicted);
    if (r.smallest)
      out += fmt::format("\nSmallest card that holds this: {} ({} usable)\n", r.smallest->name,
                         format_bytes(r.smallest->usable));
    if (r.verdict == Verdict::does_not_fit)
      out += "\nNext: --allocator expandable, a larger --gpu, or what 'vramplan estimate --advise' ranks\n";
  }
  if (!r.warnings.empty() || !r.assumptions.empty() || r.missing.size() > 1) out += "\n";
  for (const std::string& a : r.assumptions) out += "assumed: " + a + "\n";
  for (std::size_t i = 1; i < r.missing.size(); ++i) out += "no verdict also because " + r.missing[i] + "\n";
  for (const std::string& w : r.warnings) out += "warning: " + w + "\n";
  return out;
}

std::string expandable_line(const Rehearsal& r, const Rehearsal& expandable) {
  return fmt::format(
      "With expandable segments (PYTORCH_ALLOC_CONF=expandable_segments:True): {}, {} reserved instead of {}\n",
      verdict_word(expandable), format_bytes(expandable.counters.reserved), format_bytes(r.counters.reserved));
}

std::string rehearsal_json(const Rehearsal& r, const std::optional<PredictedRun>& predicted,
                           const std::optional<Rehearsal>& expandable) {
  json j = document("rehearsal");
  j.update({{"command", r.command},
            {"exit_status", r.status},
            {"gpu", r.card.id},
            {"cards", r.cards},
            {"verdict", verdict_json(r)},
            {"missing", r.missing},
            {"margin", r.margin},
            {"context", r.context.count()},
            {"counters",
             {{"allocated", r.counters.allocated.count()},
              {"reserved", r.counters.reserved.count()},
              {"device_used", r.counters.device_used.count()},
              {"capacity", r.counters.capacity.count()}}},
            {"worst_rank", r.worst_rank},
            {"smallest_gpu", r.smallest ? json(r.smallest->id) : json()},
            {"processes", json::array()},
            {"assumptions", r.assumptions},
            {"warnings", r.warnings}});
  for (const RehearsedProcess& p : r.processes) j["processes"].push_back(process_json(p));
  if (expandable)
    j["expandable"] = {{"verdict", verdict_json(*expandable)},
                       {"exit_status", expandable->status},
                       {"allocated", expandable->counters.allocated.count()},
                       {"reserved", expandable->counters.reserved.count()},
                       {"device_used", expandable->counters.device_used.count()}};
  if (predicted) {
    for (const RehearsalGap& g : gaps_of(r, *predicted)) {
      std::string key = g.name;
      std::replace(key.begin(), key.end(), ' ', '_');
      j["compared"][key] = {{"rehearsed", g.rehearsed.count()}, {"estimate", g.predicted.count()}};
    }
    for (const RehearsalGap& g : gaps_by_kind(r, *predicted))
      j["compared_by_kind"][g.name] = {{"rehearsed", g.rehearsed.count()}, {"estimate", g.predicted.count()}};
  }
  return document_text(j);
}

}  // namespace vramplan
