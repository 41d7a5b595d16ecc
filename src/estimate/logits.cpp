#include "estimate/logits.h"

#include <algorithm>
#include <string_view>

#include "model/weights.h"

namespace vramplan {
namespace {

bool near_the_loss(const Record& r) {
  const std::string_view module = r.place.module;
  return module == "lm_head" || module == "loss" || module == "score" || module == "classifier";
}

bool is_logits(const Record& r, std::int64_t width) {
  return !r.shape.empty() && r.shape[r.shape.size() - 1] == width && near_the_loss(r);
}

}  // namespace

std::optional<Logits> logits_of(const DryRun& run, const Job& job) {
  Logits found;
  const TrainOptions& o = job.run;
  found.tokens = o.micro_batch * (job.model.encoder() && job.model.labels > 0 ? 1 : target_length(o));
  found.width = head_rows(job.model);
  const Ledger& ledger = run.ledger();
  const StepMarks& step = run.second_step();
  Bytes now;
  const auto& events = ledger.events();
  for (std::size_t i = 0; i < std::min<std::size_t>(events.size(), step.end); ++i) {
    const Event& e = events[i];
    if (e.kind != Event::Kind::allocate && e.kind != Event::Kind::release) continue;
    const Record& r = ledger.record(e.record);
    if (!is_logits(r, found.width)) continue;
    if (e.kind == Event::Kind::release) {
      now -= r.bytes;
      continue;
    }
    now += r.bytes;
    found.largest = std::max(found.largest, r.bytes);
    if (i >= step.micro.front().forward && now > found.together) found.together = now, found.phase = e.phase;
  }
  if (found.together == Bytes()) return std::nullopt;
  for (const Ledger::Alive& a : ledger.alive(run.peak().at))
    if (is_logits(ledger.record(a.record), found.width)) found.at_peak += ledger.record(a.record).bytes;
  return found;
}

}  // namespace vramplan
