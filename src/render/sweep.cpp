#include "render/sweep.h"

#include "render/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "render/csv.h"
#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

std::string rate(const SweepRow& r) {
  return r.tokens_a_second > 0 ? fmt::format("{:.0f}", r.tokens_a_second) : std::string();
}

}  // namespace

std::string sweep_text(const SweepTable& table) {
  std::vector<bool> right(table.flags.size(), true);
  for (bool r : {false, true, true, true, false}) right.push_back(r);
  Table t(right);
  std::vector<std::string> head = table.flags;
  for (const char* name : {"verdict", "device used", "margin", "tokens/s", "peak in"}) head.emplace_back(name);
  t.add(head);
  for (const SweepRow& r : table.rows) {
    std::vector<std::string> cells = r.values;
    if (!r.error.empty())
      cells.insert(cells.end(), {r.error, "", "", "", ""});
    else
      cells.insert(cells.end(),
                   {std::string(name_of(r.verdict)), format_bytes(r.counters.device_used),
                    r.counters.capacity > Bytes()
                        ? fmt::format("{:+.2f} GiB", static_cast<double>(r.margin) / static_cast<double>(kGiB))
                        : "",
                    rate(r), std::string(name_of(r.peak_phase))});
    t.add(cells);
  }
  return t.str("");
}

std::string sweep_csv(const SweepTable& table) {
  std::string out;
  for (const std::string& flag : table.flags) out += flag + ",";
  out += "verdict,allocated,reserved,device_used,capacity,margin,tokens_per_second,peak_phase,error\n";
  for (const SweepRow& r : table.rows) {
    for (const std::string& v : r.values) out += csv_text(v) + ",";
    const Counters& c = r.counters;
    if (r.error.empty())
      out += fmt::format("{},{},{},{},{},{},{},{},\n", name_of(r.verdict), c.allocated.count(), c.reserved.count(),
                         c.device_used.count(), c.capacity.count(), r.margin, rate(r), name_of(r.peak_phase));
    else
      out += ",,,,,,,," + csv_text(r.error) + "\n";
  }
  return out;
}

std::string sweep_json(const SweepTable& table) {
  json j = document("sweep");
  j["flags"] = table.flags;
  j["complete"] = table.complete;
  j["rows"] = json::array();
  for (const SweepRow& r : table.rows) {
    json row;
    for (std::size_t i = 0; i < table.flags.size(); ++i) row[table.flags[i]] = r.values[i];
    if (r.error.empty())
      row.update({{"verdict", std::string(name_of(r.verdict))},
                  {"allocated", r.counters.allocated.count()},
                  {"reserved", r.counters.reserved.count()},
                  {"device_used", r.counters.device_used.count()},
                  {"capacity", r.counters.capacity.count()},
                  {"margin", r.margin},
                  {"tokens_per_second", r.tokens_a_second > 0 ? json(r.tokens_a_second) : json()},
                  {"peak_phase", std::string(name_of(r.peak_phase))}});
    else
      row["error"] = r.error;
    j["rows"].push_back(std::move(row));
  }
  return document_text(j);
}

}  // namespace vramplan
