#include "render/plan.h"

#include "render/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/words.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kShown = 24;

std::string share(double x) { return fmt::format("{:.1f} %", 100 * x); }

std::string margin(const Candidate& c) {
  const double left = static_cast<double>(c.capacity.count()) - static_cast<double>(c.device_used.count());
  return fmt::format("{:+.2f} GiB", left / static_cast<double>(kGiB));
}

bool has_frontier(const Plan& p) {
  return std::any_of(p.candidates.begin(), p.candidates.end(), [](const Candidate& c) { return c.frontier; });
}

/// What a user should see: the answer and its neighbours, the frontier where there is one; or everything.
std::vector<std::size_t> worth_showing(const Plan& p, bool all) {
  const bool strategies = has_frontier(p);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const bool near = p.answer && (i > *p.answer ? i - *p.answer : *p.answer - i) <= kShown / 3;
    if (all || p.answer == i || p.candidates[i].frontier || (!strategies && (near || !p.answer))) out.push_back(i);
  }
  if (strategies)
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
      return p.candidates[a].recompute_share < p.candidates[b].recompute_share;
    });
  if (out.size() > kShown && !p.answer && !all) out.resize(kShown);
  return out;
}

std::string remark(const Plan& p, std::size_t i) {
  if (p.answer == i) return "<- answer";
  return p.candidates[i].dominated_by.empty() ? "" : "dominated by " + p.candidates[i].dominated_by;
}

std::string answer_line(const Plan& p) {
  if (!p.answer) {
    const auto tight = std::count_if(p.candidates.begin(), p.candidates.end(),
                                     [](const Candidate& c) { return c.verdict == Verdict::tight; });
    return fmt::format(
        "Nothing fits for certain: {}\n  'vramplan estimate' with the same flags tells what to change\n{}", p.question,
        tight ? fmt::format("  {} would be tight: --allow-tight counts them; --allocator expandable often "
                            "makes room\n",
                            tight)
              : "");
  }
  const Candidate& c = p.candidates[*p.answer];
  return fmt::format("{}: {}\n  {} of {} used, margin {}\n", c.what, p.question, format_bytes(c.device_used),
                     format_bytes(c.capacity), margin(c));
}

json candidate_json(const Candidate& c) {
  const TrainOptions& r = c.job.run;
  json j{{"name", c.what},
         {"verdict", std::string(name_of(c.verdict))},
         {"device_used", c.device_used.count()},
         {"capacity", c.capacity.count()},
         {"recompute", c.recompute_share},
         {"step_seconds", c.time ? json(c.time->total()) : json()},
         {"recompute_seconds", c.time ? json(c.time->recompute) : json()},
         {"tokens_per_second", c.time ? json(c.time->tokens_a_second) : json()},
         {"frontier", c.frontier},
         {"dominated_by", c.dominated_by},
         {"micro_batch", r.micro_batch},
         {"seq", r.seq},
         {"checkpoint", checkpoint_word(r.checkpoint)}};
  j["segments"] = r.checkpoint.kind == CheckpointKind::segments    ? json(r.checkpoint.n)
                  : r.checkpoint.kind == CheckpointKind::per_layer ? json(c.job.model.layers)
                                                                   : json();
  j["gpu"] = c.job.card ? json(c.job.card->id) : json();
  return j;
}

}  // namespace

std::string plan_table(const Plan& p, bool all) {
  const bool recompute = has_frontier(p);
  Table t({false, false, true, true, true, true, true, false});
  t.add({"", "verdict", "device used", "margin", recompute ? "recompute" : "", "step", "tokens/s", ""});
  for (std::size_t i : worth_showing(p, all)) {
    const Candidate& c = p.candidates[i];
    t.add({c.what, std::string(name_of(c.verdict)), format_bytes(c.device_used), margin(c),
           recompute ? share(c.recompute_share) : "", c.time ? fmt::format("{:.1f} ms", 1e3 * c.time->total()) : "",
           c.time ? fmt::format("{:.0f}", c.time->tokens_a_second) : "", remark(p, i)});
  }
  std::string out = answer_line(p) + "\n" + t.str();
  const auto dominated = std::count_if(p.candidates.begin(), p.candidates.end(),
                                       [](const Candidate& c) { return !c.dominated_by.empty(); });
  if (dominated && !all)
    out += fmt::format("  {} more are dominated by one of these: --all shows by which\n", dominated);
  for (const std::string& n : p.notes) out += "  " + n + "\n";
  return out;
}

std::string plan_json(const Plan& p, const Job& job) {
  json j = document("plan");
  j["question"] = p.question;
  j["answer"] = p.answer ? candidate_json(p.candidates[*p.answer]) : json();
  j["candidates"] = json::array();
  for (const Candidate& c : p.candidates) j["candidates"].push_back(candidate_json(c));
  j["notes"] = p.notes;
  j["job"] = job_json(job);
  return document_text(j);
}

}  // namespace vramplan
