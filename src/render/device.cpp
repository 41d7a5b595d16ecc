#include "render/device.h"

#include <fmt/format.h>

#include "render/document.h"
#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

json known(const std::optional<Bytes>& b) { return b ? json(b->count()) : json(); }
json known(const std::optional<bool>& b) { return b ? json(*b) : json(); }

std::string on_off(const std::optional<bool>& b) { return !b ? "not supported" : *b ? "on" : "off"; }

std::string memory_line(const DeviceFacts& f) {
  if (!f.memory) return fmt::format("  memory: not known: {}\n", f.no_memory);
  const CardMemory& m = *f.memory;
  Table t({false, true, true});
  const auto row = [&](const char* name, Bytes b) { t.add({name, format_bytes(b), fmt::format("{}", b.count())}); };
  row("total", m.total);
  row("used", m.used);
  if (m.reserved) row("kept by the driver", *m.reserved);
  row("free", m.free);
  return t.str() + (m.adds_up ? "" : "  these do not add up to the total, as this driver counts\n");
}

std::string process_lines(const DeviceFacts& f) {
  if (!f.processes) return fmt::format("  processes: not known: {}\n", f.no_processes);
  if (f.processes->empty()) return "  no processes that are visible from here\n";
  Table t({true, true, false});
  t.add({"pid", "memory", "command"});
  for (const DeviceProcess& p : *f.processes)
    t.add({std::to_string(p.process.pid), p.process.used ? format_bytes(*p.process.used) : "not told",
           p.command.empty() ? "(not visible from here)" : p.command});
  return t.str();
}

json facts_json(const DeviceFacts& f) {
  json card{{"index", f.index}, {"name", f.card.name}, {"uuid", f.card.uuid}};
  card["memory"] = f.memory ? json{{"total", f.memory->total.count()},
                                   {"free", f.memory->free.count()},
                                   {"used", f.memory->used.count()},
                                   {"reserved", known(f.memory->reserved)},
                                   {"adds_up", f.memory->adds_up}}
                            : json();
  card["processes"] = f.processes ? json::array() : json();
  if (f.processes)
    for (const DeviceProcess& p : *f.processes)
      card["processes"].push_back({{"pid", p.process.pid}, {"used", known(p.process.used)}, {"command", p.command}});
  return card;
}

}  // namespace

std::string device_table(const DeviceReport& r) {
  std::string out =
      fmt::format("driver {}, CUDA {}.{}, {} card{}\n", r.driver.empty() ? "of unknown version" : r.driver,
                  r.cuda / 1000, r.cuda % 1000 / 10, r.cards.size(), r.cards.size() == 1 ? "" : "s");
  for (const DeviceFacts& f : r.cards) {
    out += fmt::format("\nGPU {}: {}\n  {}\n", f.index, f.card.name, f.card.uuid);
    out += memory_line(f);
    out += fmt::format("  MIG {}, accounting {}\n", on_off(f.card.mig), on_off(f.card.accounting));
    if (f.card.accounting == false)
      out += fmt::format("  'nvidia-smi -i {} -am 1' as root makes peaks of whole processes exact\n", f.index);
    out += process_lines(f);
    for (const DeviceFacts& part : f.instances)
      out += fmt::format("\nGPU {}, instance {}: {}\n  {}\n{}{}", f.index, part.index, part.card.name, part.card.uuid,
                         memory_line(part), process_lines(part));
  }
  return out;
}

std::string device_json(const DeviceReport& r) {
  json j = document("device");
  j["driver"] = r.driver;
  j["cuda"] = r.cuda;
  j["cards"] = json::array();
  for (const DeviceFacts& f : r.cards) {
    json card = facts_json(f);
    card["mig"] = known(f.card.mig);
    card["accounting"] = known(f.card.accounting);
    card["instances"] = json::array();
    for (const DeviceFacts& part : f.instances) card["instances"].push_back(facts_json(part));
    j["cards"].push_back(std::move(card));
  }
  return document_text(j);
}

std::string overhead_table(const OverheadReport& r) {
  Table t({false, true});
  for (const OverheadStep& s : r.steps) t.add({s.name, format_bytes(s.taken)});
  t.add({"before the first tensor", format_bytes(r.context)});
  std::string out =
      fmt::format("{}, {}:\n{}", r.card, r.by_process ? "memory of this process" : "memory of the device", t.str());
  if (r.usable) {
    Table u({false, true});
    u.add({"free, as the driver says", format_bytes(r.usable->free)});
    u.add({"the largest block", format_bytes(r.usable->largest_block)});
    u.add({"all blocks of 2 MiB and more", format_bytes(r.usable->all_blocks)});
    out += "\nWhat is left:\n" + u.str();
  }
  for (const std::string& w : r.warnings) out += "warning: " + w + "\n";
  return out;
}

std::string overhead_json(const OverheadReport& r) {
  json j = document("overhead");
  j["card"] = r.card;
  j["uuid"] = r.uuid;
  j["by_process"] = r.by_process;
  j["steps"] = json::array();
  for (const OverheadStep& s : r.steps) j["steps"].push_back({{"name", s.name}, {"bytes", s.taken.count()}});
  j["context"] = r.context.count();
  j["usable"] = r.usable ? json{{"free", r.usable->free.count()},
                                {"largest_block", r.usable->largest_block.count()},
                                {"all_blocks", r.usable->all_blocks.count()}}
                         : json();
  j["warnings"] = r.warnings;
  return document_text(j);
}

std::string calibration_json(const OverheadReport& r) {
  return json{{"context_bytes", r.context.count()}}.dump(2) + "\n";
}

}  // namespace vramplan
