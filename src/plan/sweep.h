// Many jobs: a row each, in their order whatever the number of threads, filtered and sorted on demand.
#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vramplan/estimate/estimate.h"

namespace vramplan {

struct SweepRow {
  std::vector<std::string> values;  ///< of the swept flags, in their order
  bool done = false;
  std::string error;  ///< why this combination is no job; empty otherwise
  Verdict verdict = Verdict::unknown;
  Counters counters;
  std::int64_t margin = 0;
  Phase peak_phase = Phase::init;
  double tokens_a_second = 0;  ///< 0: not known
};

struct SweepTable {
  std::vector<std::string> flags;  ///< without dashes
  std::vector<SweepRow> rows;      ///< the last flag varies fastest
  bool complete = true;            ///< false when it was interrupted: the rows are those done until then
};

/// How the rows of `table`, whose values are set, are filled in.
struct SweepRun {
  std::function<Job(const std::vector<std::string>&)> job;  ///< throws UserError for a combination that is none
  bool only_fitting = false;                                ///< rows that cannot fit for certain are left out unrun
  std::size_t threads = 0;                                  ///< 0: as many as there are cores
  const std::atomic<bool>* stop = nullptr;                  ///< set from outside to end early
  std::function<void(std::size_t)> progress;                ///< told now and then how many rows are done
};
void fill(SweepTable& table, const SweepRun& run);

/// Keeps the rows with one of these verdicts ("fits", "tight", "does not fit"), joined by commas. Throws UserError.
void keep_where(SweepTable& table, const std::string& verdicts);
/// By "margin" or "tokens/s" (the highest first), "device-used" (the lowest first) or a swept flag. Throws UserError.
void sort_by(SweepTable& table, const std::string& key);

}  // namespace vramplan
