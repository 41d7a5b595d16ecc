#include "plan/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/parallel.h"
#include "base/suggest.h"
#include "base/text.h"
#include "plan/sieve.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// Rows between two looks at the clock and the stop sign.
constexpr std::size_t kBlock = 256;

void fill_row(SweepRow& row, const SweepRun& run) {
  try {
    const Estimate e = assess(run.job(row.values));
    row.verdict = e.verdict;
    row.counters = e.counters;
    row.margin = e.margin;
    row.peak_phase = e.peak_phase;
    if (e.time) row.tokens_a_second = e.time->tokens_a_second;
  } catch (const UserError& e) {
    row.error = e.what();
  } catch (const Overflow& e) {
    row.error = e.what();
  }
  row.done = true;
}

/// Numbers by size, other words as they stand.
bool value_before(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& s) {
    return !s.empty() && s.size() < 19 && s.find_first_not_of("0123456789") == std::string::npos;
  };
  return digits(a) && digits(b) ? std::stoll(a) < std::stoll(b) : a < b;
}

/// Marks rows that are certain not to fit, with no more said of them than that.
void sift(Sieve& sieve, SweepRow& row, const SweepRun& run) {
  try {
    if (!sieve.too_large(run.job(row.values))) return;
    row.verdict = Verdict::does_not_fit;
    row.done = true;
  } catch (const std::exception&) {
    // The row says so itself when it is run.
  }
}

/// The least and the greatest micro-batch of a table that sweeps it. What is no number says so in its row.
std::pair<std::int64_t, std::int64_t> micro_batches(const SweepTable& table) {
  const auto flag = std::find(table.flags.begin(), table.flags.end(), "micro-batch");
  if (flag == table.flags.end()) return {1, 1};
  std::int64_t from = std::numeric_limits<std::int64_t>::max(), to = 1;
  for (const SweepRow& row : table.rows) {
    const std::string& text = row.values[static_cast<std::size_t>(flag - table.flags.begin())];
    std::int64_t b = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), b).ec != std::errc() || b < 1) continue;
    from = std::min(from, b);
    to = std::max(to, b);
  }
  return {from, to};
}

}  // namespace

void fill(SweepTable& table, const SweepRun& run) {
  std::size_t done = 0;
  const auto [from, to] = run.only_fitting ? micro_batches(table) : std::pair<std::int64_t, std::int64_t>{1, 1};
  Sieve sieve(from, to);
  while (done < table.rows.size() && !(run.stop && *run.stop)) {
    const std::size_t block = std::min(kBlock, table.rows.size() - done);
    for (std::size_t i = 0; run.only_fitting && i < block; ++i) sift(sieve, table.rows[done + i], run);
    parallel_for(
        block,
        [&](std::size_t i) {
          if (!(run.stop && *run.stop) && !table.rows[done + i].done) fill_row(table.rows[done + i], run);
        },
        run.threads);
    while (done < table.rows.size() && table.rows[done].done) ++done;
    if (run.progress) run.progress(done);
  }
  table.complete = done == table.rows.size();
  table.rows.resize(done);
}

void keep_where(SweepTable& table, const std::string& verdicts) {
  std::vector<std::string_view> wanted;
  const std::vector<std::string> known{"fits", "tight", "does not fit"};
  for (std::string_view rest = verdicts; !rest.empty();) {
    const std::string item = take_item(rest, ',');
    const auto found = std::find(known.begin(), known.end(), item);
    if (found == known.end())
      throw UserError(fmt::format("'{}' is not a verdict", item), "--where",
                      did_you_mean(item, known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
    wanted.push_back(*found);
  }
  std::erase_if(table.rows, [&](const SweepRow& r) {
    return !r.error.empty() || std::find(wanted.begin(), wanted.end(), name_of(r.verdict)) == wanted.end();
  });
}

void sort_by(SweepTable& table, const std::string& key) {
  std::function<bool(const SweepRow&, const SweepRow&)> before;
  const auto flag = std::find(table.flags.begin(), table.flags.end(), key);
  if (key == "margin") {
    before = [](const SweepRow& a, const SweepRow& b) { return a.margin > b.margin; };
  } else if (key == "tokens/s") {
    before = [](const SweepRow& a, const SweepRow& b) { return a.tokens_a_second > b.tokens_a_second; };
  } else if (key == "device-used") {
    before = [](const SweepRow& a, const SweepRow& b) { return a.counters.device_used < b.counters.device_used; };
  } else if (flag != table.flags.end()) {
    before = [i = static_cast<std::size_t>(flag - table.flags.begin())](const SweepRow& a, const SweepRow& b) {
      return value_before(a.values[i], b.values[i]);
    };
  } else {
    std::vector<std::string> known{"margin", "tokens/s", "device-used"};
    known.insert(known.end(), table.flags.begin(), table.flags.end());
    throw UserError(fmt::format("cannot sort by '{}'", key), "--sort",
                    did_you_mean(key, known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
  }
  // Rows that are no job come last.
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const SweepRow& a, const SweepRow& b) {
    if (a.error.empty() != b.error.empty()) return a.error.empty();
    return a.error.empty() && before(a, b);
  });
}

}  // namespace vramplan
