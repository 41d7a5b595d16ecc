#include "cli/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/text.h"
#include "cli/values.h"
#include "render/table.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t kMostRows = 1000000;

struct Axis {
  std::string flag;
  std::vector<std::string> values;
};

/// "1..64", "1..64*2", "8..64+8"
std::vector<std::string> range(const std::string& text, std::size_t dots, const char* flag) {
  const std::size_t by = text.find_first_of("*+", dots);
  const std::int64_t from = parse_count(text.substr(0, dots), flag);
  const std::int64_t to = parse_count(text.substr(dots + 2, by == std::string::npos ? by : by - dots - 2), flag);
  const bool times = by != std::string::npos && text[by] == '*';
  const std::int64_t step = by == std::string::npos ? 1 : parse_count(text.substr(by + 1), flag);
  if (from < 1 || to < from || step < 1 || (times && step < 2))
    throw UserError(fmt::format("'{}' is not a range", text), flag, "write 1..64, 1..64*2 or 8..64+8", Exit::usage);
  std::vector<std::string> out;
  for (std::int64_t v = from; v <= to; v = times ? v * step : v + step) {
    out.push_back(std::to_string(v));
    if (out.size() > kMostRows)
      throw UserError("more than a million values", flag, "widen the step: a..b*2 or a..b+64", Exit::usage);
  }
  return out;
}

Axis axis_of(const std::string& text, std::int64_t layers) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UserError(fmt::format("'{}' sweeps nothing", text), "--sweep", "write micro-batch=1..64", Exit::usage);
  Axis a{text.substr(0, equals), {}};
  const std::string values = text.substr(equals + 1);
  if (values == "all") {
    if (a.flag != "segments")
      throw UserError(fmt::format("'{}' has no list of all values", a.flag), "--sweep", "segments=all does",
                      Exit::usage);
    for (std::int64_t n = 1; n <= layers; ++n) a.values.push_back(std::to_string(n));
  } else if (const std::size_t dots = values.find(".."); dots != std::string::npos) {
    a.values = range(values, dots, "--sweep");
  } else {
    for (std::string_view rest = values; !rest.empty();) a.values.push_back(take_item(rest, ','));
  }
  return a;
}

JobFlags with_first_values(JobFlags flags, const std::vector<std::string>& sweeps) {
  for (const std::string& s : sweeps)
    if (const std::size_t equals = s.find('='); equals != std::string::npos && s.substr(equals + 1) != "all") {
      const std::string values = s.substr(equals + 1);
      flags.set("--" + s.substr(0, equals), values.substr(0, std::min(values.find(','), values.find(".."))));
    }
  return flags;
}

/// The axes, with the number of their combinations checked.
std::vector<Axis> axes_of(const JobFlags& base, const std::vector<std::string>& sweeps, const Context& context) {
  const std::int64_t layers = with_first_values(base, sweeps).job(context).model.layers;
  std::vector<Axis> axes;
  std::uint64_t rows = 1;
  for (const std::string& s : sweeps) {
    axes.push_back(axis_of(s, layers));
    rows *= axes.back().values.size();
    if (rows > kMostRows)
      throw UserError(fmt::format("{} combinations or more", rows), "--sweep",
                      "at most a million: give fewer values, or wider steps (a..b*2)", Exit::usage);
  }
  return axes;
}

std::vector<std::string> header(const SweepTable& t) {
  std::vector<std::string> out = t.flags;
  for (const char* name :
       {"verdict", "allocated", "reserved", "device_used", "capacity", "margin", "peak_phase", "error"})
    out.emplace_back(name);
  return out;
}

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

SweepTable run_sweep(const JobFlags& base, const std::vector<std::string>& sweeps, const Context& context) {
  const std::vector<Axis> axes = axes_of(base, sweeps, context);
  SweepTable table;
  std::size_t rows = 1;
  for (const Axis& a : axes) table.flags.push_back(a.flag), rows *= a.values.size();
  table.rows.resize(rows);
  parallel_for(rows, [&](std::size_t i) {
    SweepRow& row = table.rows[i];
    JobFlags flags = base;
    row.values.resize(axes.size());
    std::size_t rest = i;
    for (std::size_t a = axes.size(); a-- > 0;) {
      row.values[a] = axes[a].values[rest % axes[a].values.size()];
      rest /= axes[a].values.size();
      flags.set("--" + axes[a].flag, row.values[a]);
    }
    try {
      row.estimate = assess(flags.job(context));
    } catch (const UserError& e) {
      row.error = e.what();
    } catch (const Overflow& e) {
      row.error = e.what();
    }
  });
  return table;
}

std::string sweep_text(const SweepTable& table) {
  std::vector<bool> right(table.flags.size(), true);
  for (bool r : {false, true, true, false}) right.push_back(r);
  Table t(right);
  std::vector<std::string> head = table.flags;
  for (const char* name : {"verdict", "device used", "margin", "peak in"}) head.emplace_back(name);
  t.add(head);
  for (const SweepRow& r : table.rows) {
    std::vector<std::string> cells = r.values;
    const Estimate& e = r.estimate;
    if (!r.error.empty())
      cells.insert(cells.end(), {r.error, "", "", ""});
    else
      cells.insert(
          cells.end(),
          {std::string(name_of(e.verdict)), format_bytes(e.counters.device_used),
           e.job.card ? fmt::format("{:+.2f} GiB", static_cast<double>(e.margin) / static_cast<double>(kGiB)) : "",
           std::string(name_of(e.peak_phase))});
    t.add(cells);
  }
  return t.str("");
}

std::string sweep_csv(const SweepTable& table) {
  std::string out = fmt::format("{}\n", fmt::join(header(table), ","));
  for (const SweepRow& r : table.rows) {
    const Estimate& e = r.estimate;
    for (const std::string& v : r.values) out += quoted(v) + ",";
    if (r.error.empty())
      out += fmt::format("{},{},{},{},{},{},{},\n", name_of(e.verdict), e.counters.allocated.count(),
                         e.counters.reserved.count(), e.counters.device_used.count(), e.counters.capacity.count(),
                         e.margin, name_of(e.peak_phase));
    else
      out += ",,,,,,," + quoted(r.error) + "\n";
  }
  return out;
}

std::string sweep_json(const SweepTable& table) {
  json j{{"schema_version", 1}, {"kind", "sweep"}, {"flags", table.flags}, {"rows", json::array()}};
  for (const SweepRow& r : table.rows) {
    json row;
    for (std::size_t i = 0; i < table.flags.size(); ++i) row[table.flags[i]] = r.values[i];
    const Estimate& e = r.estimate;
    if (r.error.empty())
      row.update({{"verdict", std::string(name_of(e.verdict))},
                  {"allocated", e.counters.allocated.count()},
                  {"reserved", e.counters.reserved.count()},
                  {"device_used", e.counters.device_used.count()},
                  {"capacity", e.counters.capacity.count()},
                  {"margin", e.margin},
                  {"peak_phase", std::string(name_of(e.peak_phase))}});
    else
      row["error"] = r.error;
    j["rows"].push_back(std::move(row));
  }
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace vramplan
