// What to change so that it fits, or needs less: every lever is run alone, then sets of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/parallel.h"
#include "estimate/least_peak.h"
#include "estimate/levers.h"
#include "estimate/overhead.h"
#include "vramplan/base/error.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {
namespace {

constexpr std::size_t kLargestSet = 4;

struct Pulled {
  Advice advice;
  Estimate after;
  std::vector<std::size_t> levers;
  bool same_training = true;
};

std::optional<double> slowdown(const Estimate& before, const Estimate& after) {
  if (!before.time || !after.time) return std::nullopt;
  return before.time->tokens_a_second / after.time->tokens_a_second - 1;
}

void join(std::string& list, const std::string& item, const char* by) {
  if (item.empty()) return;
  list += (list.empty() ? "" : by) + item;
}

/// Levers that are pulled, and the job they make.
struct Pull {
  Pulled told;
  Job job;
};

/// Nothing when the levers do not go together.
std::optional<Pull> pull(const Estimate& e, const std::vector<std::size_t>& which) {
  Pull p{{}, e.job};
  p.told.levers = which;
  std::set<std::string> names;
  for (std::size_t i : which) {
    const Lever& lever = all_levers()[i];
    const auto use = names.insert(lever.name).second ? lever.pull(p.job) : std::nullopt;
    if (!use) return std::nullopt;
    join(p.told.advice.flags, use->flags, " ");
    join(p.told.advice.setting, use->setting, ", ");
    join(p.told.advice.consequence, lever.consequence, "; ");
    p.told.same_training = p.told.same_training && lever.same_training;
  }
  return p;
}

/// Tensors alone, by a bound from short steps, are more than the card has.
bool hopeless(const Estimate& e, const Job& job) {
  const std::optional<Bytes> least = least_peak(job);
  return least && *least + overhead_of(job).context > e.counters.capacity;
}

/// What these levers do, run; nothing when they do not go together or, with `only_hopeful`, cannot make it fit.
std::optional<Pulled> run_with(const Estimate& e, const std::vector<std::size_t>& which, bool only_hopeful) {
  std::optional<Pull> pulled = pull(e, which);
  if (!pulled) return std::nullopt;
  Pulled& p = pulled->told;
  try {
    if (only_hopeful && hopeless(e, pulled->job)) return std::nullopt;
    p.after = assess(pulled->job);
  } catch (const UserError&) {
    return std::nullopt;
  }
  p.advice.device_used = p.after.counters.device_used;
  p.advice.saved = static_cast<std::int64_t>(e.counters.device_used.count()) -
                   static_cast<std::int64_t>(p.after.counters.device_used.count());
  p.advice.slower = slowdown(e, p.after);
  p.advice.verdict = p.after.verdict;
  return p;
}

std::vector<Pulled> run_all(const Estimate& e, const std::vector<std::vector<std::size_t>>& sets, bool only_hopeful) {
  std::vector<std::optional<Pulled>> found(sets.size());
  parallel_for(sets.size(), [&](std::size_t i) { found[i] = run_with(e, sets[i], only_hopeful); });
  std::vector<Pulled> out;
  for (auto& p : found)
    if (p) out.push_back(std::move(*p));
  return out;
}

std::vector<Pulled> each_alone(const Estimate& e) {
  std::vector<std::vector<std::size_t>> sets;
  sets.reserve(all_levers().size());
  for (std::size_t i = 0; i < all_levers().size(); ++i) sets.push_back({i});
  return run_all(e, sets, false);
}

/// Bytes saved for a percent of time; what costs no time comes first.
double worth(const Advice& a) {
  constexpr double kNoTime = 0.001;
  const double percent = 100 * std::max(a.slower.value_or(1), kNoTime);
  return static_cast<double>(a.saved) / percent;
}

bool better(const Pulled& a, const Pulled& b) {
  if (a.same_training != b.same_training) return a.same_training;
  return worth(a.advice) > worth(b.advice);
}

/// The lever sets of one size more, without those that do not go together.
std::vector<std::vector<std::size_t>> grown(const Estimate& e, const std::vector<std::vector<std::size_t>>& sets,
                                            const std::vector<std::size_t>& useful) {
  std::vector<std::vector<std::size_t>> out;
  for (const auto& set : sets)
    for (std::size_t i : useful) {
      if (i <= set.back()) continue;
      std::vector<std::size_t> larger = set;
      larger.push_back(i);
      if (pull(e, larger)) out.push_back(std::move(larger));
    }
  return out;
}

bool fits(const Pulled& p) { return p.after.verdict == Verdict::fits; }
bool gets_through(const Pulled& p) { return fits(p) || p.after.verdict == Verdict::tight; }

/// What a search for a set found.
struct Found {
  std::optional<Pulled> set;
  bool tight = false;  ///< some set gets through, though within the uncertainty
};

/// The fewest of `useful` that fit together; of equally many the fastest.
Found smallest_set(const Estimate& e, const std::vector<std::size_t>& useful) {
  std::vector<std::vector<std::size_t>> sets;
  sets.reserve(useful.size());
  for (std::size_t i : useful) sets.push_back({i});
  Found found;
  for (std::size_t size = 2; size <= kLargestSet && !found.set; ++size) {
    sets = grown(e, sets, useful);
    for (Pulled& p : run_all(e, sets, true)) {
      found.tight = found.tight || gets_through(p);
      if (!fits(p)) continue;
      const bool faster = !found.set || p.advice.slower.value_or(1) < found.set->advice.slower.value_or(1);
      if (faster) found.set = std::move(p);
    }
  }
  return found;
}

/// The levers of `alone`, and those that only become possible with one of them: 4 bits for weights once they are
/// frozen.
std::vector<std::size_t> useful_of(const Estimate& e, const std::vector<Pulled>& alone, bool any) {
  std::set<std::size_t> useful;
  for (const Pulled& p : alone)
    if (any || p.same_training) useful.insert(p.levers[0]);
  const std::set<std::size_t> first = useful;
  for (std::size_t i = 0; i < all_levers().size(); ++i)
    if ((any || all_levers()[i].same_training) && !pull(e, {i}) &&
        std::any_of(first.begin(), first.end(), [&](std::size_t f) {
          return f < i && pull(e, {f, i});
        }))
      useful.insert(i);
  return {useful.begin(), useful.end()};
}

/// First from levers that leave the training as it is, then from all.
Found best_set(const Estimate& e, const std::vector<Pulled>& alone) {
  Found found;
  if (std::any_of(alone.begin(), alone.end(), fits)) return found;
  found.tight = std::any_of(alone.begin(), alone.end(), gets_through);
  for (const bool any : {false, true}) {
    Found more = smallest_set(e, useful_of(e, alone, any));
    found.tight = found.tight || more.tight;
    if (!more.set) continue;
    found.set = std::move(more.set);
    return found;
  }
  return found;
}

/// "parameters, gradients and states alone are 1.04 TiB, at least 8 of these cards by bytes"; empty where one card
/// has room for them.
std::string cards_by_bytes(const Estimate& e) {
  const TrainOptions& r = e.job.run;
  const bool gradients = !r.optimizer.in_backward && !freezes_model(r);
  Bytes alone = e.states;
  if (gradients)
    alone += Bytes(static_cast<std::uint64_t>(e.trainable) *
                   static_cast<std::uint64_t>(r.fp32_gradients ? 4 : item_size(parameter_type(r.precision))));
  const Bytes context = overhead_of(e.job).context;
  if (e.counters.capacity <= context) return {};
  const std::uint64_t room = (e.counters.capacity - context).count(), cards = (alone.count() + room - 1) / room;
  if (cards < 2) return {};
  return fmt::format(": parameters{} states alone are {}, at least {} of these cards by bytes",
                     gradients ? ", gradients and" : " and", format_bytes(alone), cards);
}

/// The next larger card on which the job, as it is, fits, and larger ones that are faster.
std::vector<Advice> larger_card(const Estimate& e, const std::vector<Card>& cards) {
  if (!e.job.card) return {};
  std::vector<const Card*> larger;
  double fastest = 0;
  for (const Card& c : cards)
    if (c.compute_capability >= 70 && (has_bf16(c) || e.job.usual_precision || !computes_in_bf16(e.job.run)) &&
        c.usable > e.job.card->usable && c.usable >= e.counters.device_used + e.job.reserve)
      larger.push_back(&c);
  std::stable_sort(larger.begin(), larger.end(), [](const Card* a, const Card* b) { return a->usable < b->usable; });
  constexpr std::size_t kMost = 3;
  std::vector<Advice> out;
  for (const Card* c : larger) {
    if (out.size() == kMost) break;
    if (!out.empty() && c->bandwidth_gbs <= fastest) continue;
    Job job = e.job;
    set_card(job, *c);
    const std::optional<Estimate> found = assess_if_runnable(job);
    if (!found || found->verdict != Verdict::fits) continue;
    const Estimate& after = *found;
    Advice a{"--gpu " + c->id, "", "another card", after.counters.device_used, 0, slowdown(e, after), after.verdict};
    a.saved =
        static_cast<std::int64_t>(e.counters.device_used.count()) - static_cast<std::int64_t>(a.device_used.count());
    out.push_back(std::move(a));
    fastest = c->bandwidth_gbs;
  }
  return out;
}

/// What a lever frees in forward and does not in the end, because another phase is the peak.
void note_hidden(const Estimate& e, const Pulled& p, std::vector<std::string>& out) {
  if (std::string_view(all_levers()[p.levers[0]].name) != "checkpoint" || e.held <= p.after.held) return;
  const Bytes freed = e.held - p.after.held;
  const Bytes saved(static_cast<std::uint64_t>(std::max<std::int64_t>(p.advice.saved, 0)));
  if (saved.count() >= freed.count() / 2) return;
  out.push_back(fmt::format("{}: forward holds {} less, of which {} is hidden, because the peak is then in {}",
                            p.advice.flags, format_bytes(freed), format_bytes(freed - saved),
                            name_of(p.after.peak_phase)));
}

std::vector<std::string> in_vain(const Estimate& e, const std::vector<Pulled>& alone) {
  Job more = e.job;
  more.run.accumulate *= 2;
  std::vector<std::string> out;
  if (!more.run.optimizer.in_backward) {
    const Estimate after = assess(more);
    const auto change = static_cast<std::int64_t>(after.counters.device_used.count()) -
                        static_cast<std::int64_t>(e.counters.device_used.count());
    out.push_back(fmt::format(
        "more accumulation, a larger global batch, fewer steps: the micro-batch is what a card "
        "holds ({} with twice the accumulation)",
        change == 0 ? std::string("no byte less") : fmt::format("{:+.2f} GiB", static_cast<double>(change) / kGiB)));
  }
  for (const Pulled& p : alone) note_hidden(e, p, out);
  return out;
}

}  // namespace

AdviceList advise(const Estimate& e, const std::vector<Card>& cards) {
  AdviceList list;
  std::vector<Pulled> alone = each_alone(e);
  list.in_vain = in_vain(e, alone);
  std::erase_if(alone, [](const Pulled& p) { return p.advice.saved <= 0; });
  if (e.verdict == Verdict::does_not_fit || e.verdict == Verdict::tight) {
    const bool one_fits = std::any_of(alone.begin(), alone.end(), gets_through);
    Found found = best_set(e, alone);
    if (e.verdict == Verdict::does_not_fit && !one_fits && !found.set && !found.tight)
      list.in_vain.insert(list.in_vain.begin(),
                          fmt::format("no change that was tried, nor {} together, makes it fit on this card{}",
                                      kLargestSet, cards_by_bytes(e)));
    if (found.set) list.set = std::move(found.set->advice);
    list.cards = larger_card(e, cards);
  }
  std::stable_sort(alone.begin(), alone.end(), better);
  for (Pulled& p : alone) list.levers.push_back(std::move(p.advice));
  return list;
}

}  // namespace vramplan
