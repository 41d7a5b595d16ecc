#include "render/watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "render/document.h"
#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

std::string torch_table(const WatchReport& r) {
  if (r.torch.empty()) return {};
  Table t({true, true, true, true, true, false});
  t.add({"pid", "device", "allocated", "reserved", "retries", ""});
  for (const TorchPeak& p : r.torch)
    t.add({std::to_string(p.pid), std::to_string(p.device), format_bytes(p.allocated), format_bytes(p.reserved),
           std::to_string(p.retries), "PyTorch " + p.torch + ", exact"});
  return "\nBy PyTorch's own counters:\n" + t.str();
}

/// Bytes that the device gained, which is ours only where nobody else used it.
std::optional<Bytes> gained(const SampledCard& c) {
  if (!c.before || !c.highest) return std::nullopt;
  return *c.highest > *c.before ? *c.highest - *c.before : Bytes();
}

Bytes accounted(const WatchedCard& card) {
  Bytes sum;
  for (const auto& [pid, peak] : card.accounted) sum += peak;
  return sum;
}

/// Device used of the command on a card: the best that is known.
std::optional<Bytes> best_of(const WatchedCard& card) {
  if (!card.accounted.empty()) return accounted(card);
  if (card.sampled.ours > Bytes()) return card.sampled.ours;
  return card.sampled.others ? std::nullopt : gained(card.sampled);
}

std::string cards_table(const WatchReport& r) {
  std::string out;
  for (std::size_t i = 0; i < r.cards.size(); ++i) {
    const WatchedCard& card = r.cards[i];
    const SampledCard& c = card.sampled;
    const auto device = gained(c);
    if (card.accounted.empty() && c.ours == Bytes() && device.value_or(Bytes()) == Bytes()) continue;
    Table t({false, true, false});
    if (!card.accounted.empty())
      t.add({"processes, accounted", format_bytes(accounted(card)),
             card.accounted.size() == 1 ? "exact, by the driver"
                                        : "by the driver; the sum of peaks, which may not be of one instant"});
    if (c.ours > Bytes())
      t.add({"processes, looked at", format_bytes(c.ours), fmt::format("at least; {} looks", c.process_samples)});
    if (device)
      t.add({"device gained", format_bytes(*device),
             fmt::format("{}; {} looks, the longest gap {:.0f} ms", c.others ? "others use it too" : "at most its own",
                         c.samples, 1e3 * c.longest_gap)});
    out += fmt::format("\nGPU {}, {}:\n{}", i, c.name, t.str());
  }
  return out;
}

/// The counters of an estimate beside what was measured, where it was.
std::vector<std::tuple<std::string, Bytes, Bytes>> compared(const WatchReport& r, const Estimate& e) {
  std::vector<std::tuple<std::string, Bytes, Bytes>> out;
  if (const TorchPeak* p = worst_of(r)) {
    out.emplace_back("allocated", p->allocated, e.counters.allocated);
    out.emplace_back("reserved", p->reserved, e.counters.reserved);
  }
  std::optional<Bytes> used;
  for (const WatchedCard& card : r.cards)
    if (const auto best = best_of(card); best && *best > used.value_or(Bytes())) used = best;
  if (used) out.emplace_back("device_used", *used, e.counters.device_used);
  return out;
}

std::string comparison(const WatchReport& r, const Estimate& e) {
  Table t({false, true, true, true});
  t.add({"", "measured", "estimate", "off by"});
  for (const auto& [name, measured, predicted] : compared(r, e))
    t.add({name, format_bytes(measured), format_bytes(predicted),
           measured > Bytes()
               ? fmt::format("{:+.2f} %",
                             100 * (static_cast<double>(predicted.count()) / static_cast<double>(measured.count()) - 1))
               : ""});
  return "\nBeside the estimate (of step 2; PyTorch's peaks are of the whole run):\n" + t.str();
}

json card_json(const WatchedCard& card, std::size_t index) {
  const SampledCard& c = card.sampled;
  const auto known = [](const std::optional<Bytes>& b) { return b ? json(b->count()) : json(); };
  static constexpr const char* kMatches[] = {"none", "same namespace", "new entries"};
  json j{{"index", index},
         {"name", c.name},
         {"before", known(c.before)},
         {"highest", known(c.highest)},
         {"processes_at_least", c.ours.count()},
         {"match", kMatches[static_cast<std::size_t>(c.match)]},
         {"others", c.others},
         {"looks", c.samples},
         {"process_looks", c.process_samples},
         {"longest_gap", c.longest_gap},
         {"accounted", json::array()}};
  for (const auto& [pid, peak] : card.accounted) j["accounted"].push_back({{"pid", pid}, {"peak", peak.count()}});
  return j;
}

}  // namespace

std::string watch_table(const WatchReport& r, const std::optional<Estimate>& predicted) {
  std::string out = fmt::format("{}: exit status {}\n", fmt::join(r.command, " "), r.status);
  out += torch_table(r) + cards_table(r);
  if (predicted) out += comparison(r, *predicted);
  if (r.torch.empty() && cards_table(r).empty()) out += "\nNothing was seen on any card.\n";
  for (const std::string& w : r.warnings) out += "warning: " + w + "\n";
  return out;
}

std::string watch_row(const WatchReport& r, const Estimate& of, const std::string& when) {
  json measured = json::object();
  for (const auto& [name, bytes, predicted] : compared(r, of)) measured[name] = bytes.count();
  if (measured.empty()) return {};
  json row{{"id", fmt::format("watch-{}-{}", of.job.model.name, when)}, {"kind", "watched"}, {"command", r.command}};
  row["torch"] = r.torch.empty() ? json() : json(r.torch.front().torch);
  row["card"] = r.cards.empty() ? json() : json(r.cards.front().sampled.name);
  row["measured"] = measured;
  row["job"] = job_json(of.job);
  return row.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string watch_json(const WatchReport& r, const std::optional<Estimate>& predicted) {
  json j = document("watch");
  j["command"] = r.command;
  j["exit_status"] = r.status;
  j["torch"] = json::array();
  for (const TorchPeak& p : r.torch)
    j["torch"].push_back({{"pid", p.pid},
                          {"rank", p.rank},
                          {"device", p.device},
                          {"version", p.torch},
                          {"allocated", p.allocated.count()},
                          {"reserved", p.reserved.count()},
                          {"retries", p.retries}});
  j["cards"] = json::array();
  for (std::size_t i = 0; i < r.cards.size(); ++i) j["cards"].push_back(card_json(r.cards[i], i));
  j["left_running"] = r.left_running;
  j["compared"] = predicted ? json::object() : json();
  if (predicted)
    for (const auto& [name, measured, estimate] : compared(r, *predicted))
      j["compared"][name] = {{"measured", measured.count()}, {"estimate", estimate.count()}};
  j["warnings"] = r.warnings;
  return document_text(j);
}

}  // namespace vramplan
