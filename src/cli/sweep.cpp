#include "cli/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/job_reader.h"
#include "cli/known_values.h"
#include "cli/progress.h"
#include "cli/values.h"
#include "read/data.h"

namespace vramplan {
namespace {

constexpr std::int64_t kMostRows = 1000000;

/// A flag and its values: a list, or a range that is counted before it is written out.
struct Axis {
  std::string flag;
  std::vector<std::string> list;
  std::int64_t from = 0, to = 0, step = 1;
  bool times = false;

  std::int64_t size() const {
    if (!list.empty()) return static_cast<std::int64_t>(list.size());
    if (!times) return (to - from) / step + 1;
    std::int64_t n = 1;
    for (std::int64_t v = from; v <= to / step; v *= step) ++n;
    return n;
  }
  std::vector<std::string> values() const {
    if (!list.empty()) return list;
    std::vector<std::string> out;
    for (std::int64_t i = 0, v = from, n = size(); i < n; ++i, v = times ? v * step : v + step)
      out.push_back(std::to_string(v));
    return out;
  }
};

/// "1..64", "1..64*2", "8..64+8"
void set_range(Axis& a, const std::string& text, std::size_t dots) {
  const char* flag = "--sweep";
  const std::size_t by = text.find_first_of("*+", dots);
  a.from = parse_count(text.substr(0, dots), flag);
  a.to = parse_count(text.substr(dots + 2, by == std::string::npos ? by : by - dots - 2), flag);
  a.times = by != std::string::npos && text[by] == '*';
  a.step = by == std::string::npos ? 1 : parse_count(text.substr(by + 1), flag);
  if (a.from < 1 || a.to < a.from || a.step < 1 || (a.times && a.step < 2))
    throw UserError(fmt::format("'{}' is not a range", text), flag, "write 1..64, 1..64*2 or 8..64+8", Exit::usage);
}

std::vector<std::string> all_cuda_cards(const Context& context) {
  std::vector<std::string> out;
  for (const Card& c : cuda_cards(all_cards(Data(context.data_dir).gpus()))) out.push_back(c.id);
  return out;
}

/// Every value of a flag that takes one of a few words, or a card.
std::vector<std::string> all_values(const std::string& flag, const Context& context) {
  if (flag == "gpu") return all_cuda_cards(context);
  constexpr std::string_view kSwept[]{"precision", "optimizer", "optimizer-form", "attention", "loss"};
  if (std::find(std::begin(kSwept), std::end(kSwept), flag) != std::end(kSwept)) return known_values(flag, context);
  throw UserError(fmt::format("'{}' has no list of all values", flag), "--sweep",
                  "segments, gpu, precision, optimizer, optimizer-form, attention and loss have", Exit::usage);
}

Axis axis_of(const std::string& text, std::int64_t layers, const Context& context) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UserError(fmt::format("'{}' sweeps nothing", text), "--sweep", "write micro-batch=1..64", Exit::usage);
  Axis a;
  a.flag = text.substr(0, equals);
  const std::string values = text.substr(equals + 1);
  if (values == "all" && a.flag == "segments") {
    a.from = 1, a.to = layers;
  } else if (values == "all") {
    a.list = all_values(a.flag, context);
  } else if (const std::size_t dots = values.find(".."); dots != std::string::npos) {
    set_range(a, values, dots);
  } else {
    for (std::string_view rest = values; !rest.empty();) a.list.push_back(take_item(rest, ','));
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

/// The axes, with the number of their combinations checked before any is written out.
std::vector<Axis> axes_of(const JobFlags& base, const std::vector<std::string>& sweeps, const Job& first,
                          const Context& context) {
  std::vector<Axis> axes;
  double rows = 1;
  for (const std::string& s : sweeps) {
    axes.push_back(axis_of(s, first.model.layers, context));
    JobFlags(base).set("--" + axes.back().flag, "");  // an unknown flag is an error here
    rows *= static_cast<double>(axes.back().size());
  }
  if (rows > static_cast<double>(kMostRows))
    throw UserError(fmt::format("{:.0f} combinations", rows), "--sweep",
                    "at most a million: give fewer values, or wider steps (a..b*2, a..b+64)", Exit::usage);
  return axes;
}

SweepTable empty_table(const std::vector<Axis>& axes) {
  SweepTable table;
  std::vector<std::vector<std::string>> values;
  std::size_t rows = 1;
  for (const Axis& a : axes) {
    table.flags.push_back(a.flag);
    values.push_back(a.values());
    rows *= values.back().size();
  }
  table.rows.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::size_t rest = i;
    table.rows[i].values.resize(axes.size());
    for (std::size_t a = axes.size(); a-- > 0;) {
      table.rows[i].values[a] = values[a][rest % values[a].size()];
      rest /= values[a].size();
    }
  }
  return table;
}

}  // namespace

SweepTable run_sweep(const JobFlags& base, const SweepFlags& asked, const Context& context) {
  const Job first = with_first_values(base, asked.sweeps).job(context);
  SweepTable table = empty_table(axes_of(base, asked.sweeps, first, context));
  const std::int64_t threads = count_or(asked.jobs, "--jobs", 0), top = count_or(asked.top, "--top", kMostRows);
  if (threads < 0 || threads > 1024 || top < 1)
    throw UserError("--jobs is 1 to 1024, --top at least 1", "--sweep", "leave them out for all", Exit::usage);
  if (!asked.sort.empty()) sort_by(table, asked.sort);  // an unknown key is an error before the work
  JobReader reader(context);
  const bool only_fitting = !asked.where.empty() && asked.where.find("does not fit") == std::string::npos;
  const Interrupt interrupt;
  Progress progress(table.rows.size());
  fill(table, {[&](const std::vector<std::string>& values) {
                 JobFlags flags = base;
                 for (std::size_t a = 0; a < values.size(); ++a) flags.set("--" + table.flags[a], values[a]);
                 return reader.read(flags);
               },
               only_fitting, static_cast<std::size_t>(threads), &Interrupt::asked(),
               [&](std::size_t done) { progress.at(done); }});
  if (!asked.where.empty()) keep_where(table, asked.where);
  if (!asked.sort.empty()) sort_by(table, asked.sort);
  if (table.rows.size() > static_cast<std::size_t>(top)) table.rows.resize(static_cast<std::size_t>(top));
  return table;
}

}  // namespace vramplan
