#include "plan/micro_batches.h"

#include <algorithm>

namespace vramplan {

MicroBatches::MicroBatches(const Job& job, std::int64_t from, std::int64_t to) : job_(job), from_(from), to_(to) {}

Composition& MicroBatches::at(std::int64_t micro_batch) {
  std::unique_ptr<Composition>& c = at_[micro_batch];
  if (!c) {
    Job job = job_;
    job.run.micro_batch = micro_batch;
    c = std::make_unique<Composition>(job);
  }
  return *c;
}

Bytes MicroBatches::exact(const Cut& cut, std::int64_t micro_batch) {
  return at(micro_batch).peaks(cut.layers, cut.segments).requested;
}

std::optional<MicroBatches::Line> MicroBatches::line(const Cut& cut, std::int64_t micro_batch, std::int64_t low,
                                                     std::int64_t high) {
  const Bytes here = exact(cut, micro_batch), next = exact(cut, micro_batch + 1);
  if (next < here) return std::nullopt;
  const Bytes each = next - here, before = each * static_cast<std::uint64_t>(micro_batch - low);
  if (before > here) return std::nullopt;
  return Line{low, high, here - before, each};
}

std::int64_t MicroBatches::explore(const Cut& cut, std::int64_t low, std::int64_t high) {
  const std::int64_t middle = low + (high - low) / 2;
  const auto first = line(cut, low, low, high), last = line(cut, high - 1, low, high);
  if (!first || !last || !Composition::grow_evenly(at(low), at(low + 1), at(high)) ||
      !Composition::grow_evenly(at(low), at(high - 1), at(high)))
    return middle;
  std::vector<Line>& lines = lines_[cut];
  if (first->at(high) == last->at(high)) {
    lines.push_back(*first);
    return high;
  }
  // They meet where the first has risen above the last at `low` by as much as the last rises faster.
  if (last->each <= first->each || first->at_low < last->at_low) return middle;
  const auto meet =
      static_cast<std::int64_t>((first->at_low - last->at_low).count() / (last->each - first->each).count());
  const std::int64_t corner = std::clamp(low + meet, low + 1, high - 2);
  if (exact(cut, corner) != first->at(corner) || exact(cut, corner + 1) != last->at(corner + 1)) return corner;
  lines.push_back({low, corner, first->at_low, first->each});
  lines.push_back({corner + 1, high, last->at(corner + 1), last->each});
  return high;
}

Bytes MicroBatches::peak(std::int64_t layers, std::int64_t segments, std::int64_t micro_batch) {
  const Cut cut{layers, segments};
  // A single sequence has other events: its transposes are dense.
  std::int64_t low = std::max<std::int64_t>(from_, 2), high = to_;
  while (true) {
    for (const Line& l : lines_[cut])
      if (l.low <= micro_batch && micro_batch <= l.high) return l.at(micro_batch);
    if (micro_batch < low || micro_batch > high || high - low < 6) return exact(cut, micro_batch);
    const std::int64_t where = explore(cut, low, high);
    if (where == high) continue;
    if (micro_batch <= where)
      high = where;
    else
      low = where;
  }
}

}  // namespace vramplan
