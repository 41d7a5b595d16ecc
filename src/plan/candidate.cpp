#include "plan/candidate.h"

#include "vramplan/base/error.h"

namespace vramplan {

Candidate candidate_of(const Estimate& e, std::string what) {
  Candidate c;
  c.what = std::move(what);
  c.job = e.job;
  c.verdict = e.verdict;
  c.device_used = e.counters.device_used;
  c.capacity = e.counters.capacity;
  c.time = e.time;
  return c;
}

bool good_enough(const Candidate& c, const PlanOptions& options) {
  return c.verdict == Verdict::fits || (options.allow_tight && c.verdict == Verdict::tight);
}

void need_card(const Job& job) {
  if (!job.card)
    throw UserError("a plan needs a card to fit", "--gpu", "add --gpu NAME or --gpu-memory SIZE", Exit::usage);
}

}  // namespace vramplan
