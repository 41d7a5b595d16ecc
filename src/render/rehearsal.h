// A rehearsal as text, JSON and a page.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rehearse/predicted.h"

namespace vramplan {

/// The verdict first, then counters by rank and step, then the lines of the program that hold most. With `predicted`,
/// its counters beside them, and those of each phase.
std::string rehearsal_table(const Rehearsal& r, const std::optional<PredictedRun>& predicted);
/// {"kind": "rehearsal", "verdict", "counters", "processes", ...}; bytes are integers. `expandable`: the same program
/// with expandable segments.
std::string rehearsal_json(const Rehearsal& r, const std::optional<PredictedRun>& predicted,
                           const std::optional<Rehearsal>& expandable = {});
/// One page: the verdict, what lived when, ranks, steps and phases, and the lines of the program.
std::string rehearsal_html(const Rehearsal& r, const std::optional<PredictedRun>& predicted);
/// Rehearsed and predicted, of the second step: an estimate describes that.
struct RehearsalGap {
  std::string name;  ///< "allocated", "backward reserved"
  Bytes rehearsed, predicted;
};
/// The counters, then those of each phase where both have it.
std::vector<RehearsalGap> gaps_of(const Rehearsal& r, const PredictedRun& predicted);
/// By kind of tensor at the peak, which explains the counters' gaps; empty where places were not remembered.
std::vector<RehearsalGap> gaps_by_kind(const Rehearsal& r, const PredictedRun& predicted);
/// Of the rehearsed; 0 where that is nothing.
double share_of(const RehearsalGap& g);
/// The counters of each rank's devices, as cells; the first row names the columns.
std::vector<std::vector<std::string>> device_rows(const Rehearsal& r);
/// "fits", and how much of what is used; several lines end with a newline.
/// "fits", "tight", "does not fit" or "no verdict".
std::string_view verdict_word(const Rehearsal& r);
std::string rehearsal_headline(const Rehearsal& r);
/// A line of the program without the way to the installed packages.
std::string shortened_place(const std::string& place);
/// What expandable segments change.
std::string expandable_line(const Rehearsal& r, const Rehearsal& expandable);

}  // namespace vramplan
