#include "vramplan/estimate/timeline.h"

#include <algorithm>
#include <stdexcept>

#include "estimate/dry_run.h"

namespace vramplan {
namespace {

/// The sums of a ledger's categories, event by event.
class Walk {
 public:
  explicit Walk(const Ledger& ledger) : ledger_(ledger) {}

  void take(const Event& e) {
    switch (e.kind) {
      case Event::Kind::allocate: add(e.record, e.category); break;
      case Event::Kind::release: remove(e.record); break;
      case Event::Kind::reclassify:
        remove(e.record);
        add(e.record, e.category);
        break;
      default: return;
    }
    sample_.phase = e.phase;
    if (e.kind != Event::Kind::allocate) return;
    const Place& place = ledger_.record(e.record).place;
    sample_.layer = place.layer;
    module_ = place.module;
  }
  TimelineSample sample(std::size_t event) const {
    TimelineSample s = sample_;
    s.event = event;
    s.module = module_;
    return s;
  }
  Bytes live() const { return sample_.live; }

 private:
  Bytes& of(Category c) { return sample_.by_category[static_cast<std::size_t>(c)]; }
  void add(std::uint32_t record, Category c) {
    if (category_.size() <= record) category_.resize(record + std::size_t{1}, Category::temporary);
    category_[record] = c;
    of(c) += ledger_.record(record).bytes;
    sample_.live += ledger_.record(record).bytes;
  }
  void remove(std::uint32_t record) {
    Bytes& sum = of(category_[record]);
    sum = sum - ledger_.record(record).bytes;
    sample_.live = sample_.live - ledger_.record(record).bytes;
  }

  const Ledger& ledger_;
  std::vector<Category> category_;
  TimelineSample sample_;
  const char* module_ = "";
};

}  // namespace

Timeline timeline_of(const Job& job, std::size_t samples) {
  if (samples == 0) throw std::invalid_argument("a timeline of no samples");
  const DryRun run(check_job(job));
  const std::vector<Event>& events = run.ledger().events();
  const Ledger::Instant from = run.second_step().micro.front().forward, to = run.second_step().after;
  Walk walk(run.ledger());
  for (Ledger::Instant i = 0; i < from; ++i) walk.take(events[i]);
  Timeline out;
  out.events = to - from;
  const std::size_t each = std::max<std::size_t>((out.events + samples - 1) / samples, 1);
  for (Ledger::Instant i = from; i < to;) {
    TimelineSample highest;
    const Ledger::Instant end = std::min(to, i + each);
    for (bool first = true; i < end; ++i) {
      walk.take(events[i]);
      if (!first && walk.live() <= highest.live) continue;
      highest = walk.sample(i + 1 - from);
      first = false;
    }
    out.samples.push_back(std::move(highest));
    if (out.samples.back().live > out.samples[out.peak].live) out.peak = out.samples.size() - 1;
  }
  return out;
}

}  // namespace vramplan
