#include "validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "allocator/replay.h"
#include "backend/dry.h"
#include "base/parallel.h"
#include "estimate/overhead.h"
#include "read/allocator_trace.h"
#include "read/text_file.h"
#include "train/trainer.h"
#include "validate/measured.h"
#include "validate/watched.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

struct Run {
  explicit Run(const CheckedJob& job) : trainer(backend, job->model, job->run), steps{trainer.step(), trainer.step()} {}
  DryBackend backend;
  Trainer trainer;
  std::array<StepMarks, 2> steps;

  GoldenStep step(std::size_t i) const {
    const StepMarks& m = steps[i];
    const Ledger& l = trainer.ledger();
    auto peak = [&](Ledger::Instant a, Ledger::Instant b) { return l.peak(a, b).tally; };
    return {peak(m.micro[0].forward, m.micro[0].backward),
            l.live(m.micro[0].backward),
            peak(m.micro.back().backward, m.clip),
            l.live(m.clip),
            peak(m.clip, m.zero),
            l.live(m.zero),
            l.live(m.end),
            peak(m.micro[0].forward, m.end)};
  }
  Tally held() const {
    const Tally after = trainer.ledger().live(steps[0].micro[0].backward),
                before = trainer.ledger().live(trainer.ready());
    return {after.requested - before.requested, after.rounded - before.rounded};
  }
};

CheckedJob checked(const GoldenCase& g) {
  Job job;
  job.model = g.config;
  job.run = g.options;
  return check_job(std::move(job));
}

struct Field {
  std::string_view name;
  Tally GoldenStep::*member;
  bool peak;
};
constexpr std::array<Field, 8> kFields{{{"peak_forward", &GoldenStep::peak_forward, true},
                                        {"after_forward", &GoldenStep::after_forward, false},
                                        {"peak_backward", &GoldenStep::peak_backward, true},
                                        {"after_backward", &GoldenStep::after_backward, false},
                                        {"peak_optimizer", &GoldenStep::peak_optimizer, true},
                                        {"after_step", &GoldenStep::after_step, false},
                                        {"end", &GoldenStep::end, false},
                                        {"peak", &GoldenStep::peak, true}}};

double relative(Bytes found, Bytes expected) {
  return (static_cast<double>(found.count()) - static_cast<double>(expected.count())) /
         std::max(1.0, static_cast<double>(expected.count()));
}

using Rows = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;  // count, bytes

Rows rows_at(const Ledger& l, Ledger::Instant t, bool held_only) {
  Rows out;
  for (const Ledger::Alive& a : l.alive(t)) {
    const Record& r = l.record(a.record);
    std::string key;
    if (a.category == Category::parameter || a.category == Category::gradient ||
        a.category == Category::optimizer_state || a.category == Category::input) {
      if (held_only && a.category != Category::gradient && a.category != Category::optimizer_state) continue;
      key = std::string(name_of(a.category));
      if (a.category == Category::parameter && std::string_view(r.op) == "buffer") key = "buffer";
    } else {
      key = fmt::format("{} {}", r.op, to_string(r.shape));
    }
    auto& row = out[key];
    row.first += 1;
    row.second += static_cast<std::int64_t>(r.bytes.count());
  }
  return out;
}

Rows rows_of(const std::vector<GoldenRow>& golden) {
  Rows out;
  for (const GoldenRow& g : golden) {
    std::string shape = g.shape;
    for (std::size_t i = 0; (i = shape.find(',', i)) != std::string::npos; i += 2) shape.insert(i + 1, " ");
    std::string key = g.category == "optimizer_state" ? "optimizer state" : g.category;
    if (key.empty()) key = fmt::format("{} {}", g.op, shape);
    auto& row = out[key];
    row.first += g.count;
    row.second += static_cast<std::int64_t>(g.bytes.count());
  }
  return out;
}

void compare_rows(const std::string& title, const Rows& ours, const Rows& theirs, std::vector<std::string>& out) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  Rows all = theirs;
  all.insert(ours.begin(), ours.end());
  for (const auto& [key, unused] : all) {
    auto at = [&](const Rows& r) { return r.count(key) ? r.at(key) : std::pair<std::int64_t, std::int64_t>{0, 0}; };
    const auto a = at(ours), b = at(theirs);
    if (a != b)
      found.emplace_back(-std::abs(a.second - b.second), fmt::format("{}: {}: ours {} x, {} B; PyTorch {} x, {} B",
                                                                     title, key, a.first, a.second, b.first, b.second));
  }
  std::sort(found.begin(), found.end());
  for (auto& f : found) out.push_back(std::move(f.second));
}

}  // namespace

ValidatedCase validate_case(const GoldenCase& g) {
  ValidatedCase v;
  v.id = g.id;
  v.not_expressed = g.not_expressed;
  if (!g.not_expressed.empty()) return v;
  const Run run(checked(g));
  const std::int64_t base = parameter_count(g.config);
  const std::int64_t adapters = adapter_count(g.config, g.options);
  v.parameters_exact = base + adapters == g.parameters && trainable_count(g.config, g.options) == g.trainable;
  const Tally held = run.held();
  v.held_exact = held.requested == g.held.requested && (!g.steps || held.rounded == g.held.rounded);
  v.exact = v.parameters_exact && v.held_exact;
  for (std::size_t s = 0; g.steps && s < g.steps->size(); ++s) {
    const GoldenStep ours = run.step(s);
    for (const Field& f : kFields) {
      const Tally a = ours.*f.member, b = (*g.steps)[s].*f.member;
      v.exact = v.exact && a.requested == b.requested && a.rounded == b.rounded;
      const double error = relative(a.requested, b.requested);
      if (f.peak && std::abs(error) > std::abs(v.worst)) {
        v.worst = error;
        v.worst_where = fmt::format("step{}.{}", s + 1, f.name);
        v.expected = b.requested;
        v.found = a.requested;
      }
    }
  }
  return v;
}

std::vector<std::string> differing_tensors(const GoldenCase& g) {
  std::vector<std::string> out;
  if (!g.not_expressed.empty()) return out;
  const Run run(checked(g));
  const Ledger& l = run.trainer.ledger();
  compare_rows("held after forward", rows_at(l, run.steps[0].micro[0].backward, true), rows_of(g.held_rows), out);
  const auto peak = l.peak(run.steps[1].micro[0].forward, run.steps[1].end);
  compare_rows("alive at the peak (" + g.peak_phase + ")", rows_at(l, peak.at, false), rows_of(g.peak_rows), out);
  return out;
}

namespace {

struct CounterErrors {
  ValidatedCase allocated, reserved;
};

ValidatedCase counter_case(const std::string& id, Bytes found, Bytes expected, const char* where) {
  ValidatedCase c;
  c.id = id;
  c.parameters_exact = c.held_exact = true;
  c.exact = found == expected;
  c.worst = relative(found, expected);
  c.worst_where = where;
  c.expected = expected;
  c.found = found;
  return c;
}

CounterErrors validate_counters(const GoldenCase& g, const GoldenCounters& c) {
  if (!g.not_expressed.empty()) {
    ValidatedCase skipped;
    skipped.id = g.id;
    skipped.not_expressed = g.not_expressed;
    return {skipped, skipped};
  }
  GoldenCase on_card = g;
  on_card.options.device = c.device;
  const Run run(checked(on_card));
  Replay replay(run.trainer.ledger(), {}, KernelMemory::of_pytorch(workspace_bytes(c.device.compute_capability)));
  replay.run(run.steps[1].micro[0].forward);
  replay.reset_peaks();
  replay.run(run.steps[1].end);
  return {counter_case(g.id, replay.peaks().allocated, c.allocated, "step2.allocated"),
          counter_case(g.id, replay.peaks().reserved, c.reserved, "step2.reserved")};
}

/// A trace is exact when peaks, ends and retries are; its error is that of the reserved peak.
ValidatedCase validate_trace(const AllocatorTrace& t) {
  AllocatorOptions options = parse_alloc_conf(t.conf);
  options.capacity = t.capacity.count();
  if (t.fraction > 0) {
    options.memory_limit = static_cast<std::uint64_t>(t.fraction * static_cast<double>(t.capacity.count()));
    options.capacity = options.memory_limit;
  }
  CachingAllocator a(options);
  CachingAllocator::Handle next = 0;
  bool enough = true;
  for (std::int64_t e : t.events) {
    if (e < 0)
      a.release(static_cast<CachingAllocator::Handle>(-(e + 1)));
    else
      enough = a.allocate(Bytes(static_cast<std::uint64_t>(e)), next++) && enough;
    if (!enough) break;
  }
  ValidatedCase c = counter_case(t.id, a.peak_reserved(), t.peak_reserved, "peak reserved");
  c.exact = c.exact && enough && a.peak_allocated() == t.peak_allocated && a.allocated() == t.end_allocated &&
            a.reserved() == t.end_reserved && a.retries() == t.retries;
  return c;
}

void summarise(ValidatedGroup& group) {
  std::vector<double> errors;
  for (const ValidatedCase& c : group.rows) {
    ++group.cases;
    if (!c.not_expressed.empty()) continue;
    ++group.expressed;
    group.parameters_exact += c.parameters_exact;
    group.held_exact += c.held_exact;
    group.exact += c.exact;
    errors.push_back(std::abs(c.worst));
    group.bias += c.worst;
  }
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  auto quantile = [&](double q) {
    return errors[static_cast<std::size_t>(std::ceil(q * static_cast<double>(errors.size()))) - 1];
  };
  group.median = quantile(0.5);
  group.p95 = quantile(0.95);
  group.worst = errors.back();
  group.bias /= static_cast<double>(errors.size());
}

std::vector<ValidatedGroup> validate_measurements(const std::vector<std::string>& lines, const std::string& path) {
  std::vector<MeasuredRow> rows(lines.size());
  std::vector<ValidatedCase> cases(lines.size());
  parallel_for(lines.size(), [&](std::size_t i) {
    rows[i] = read_measurement(lines[i], fmt::format("{}:{}", path, i + 1));
    cases[i] = validate_measurement(rows[i]);
  });
  std::vector<ValidatedGroup> groups = group_measurements(rows, std::move(cases));
  for (ValidatedGroup& g : groups) summarise(g);
  return groups;
}

}  // namespace

std::vector<ValidatedGroup> validate_file(const std::string& path, const JobOfRow& job_of) {
  const std::vector<std::string> lines = read_lines(path);
  if (lines.empty())
    throw UserError("the file is empty: nothing was checked", path, "give golden files, a case a line");
  struct Line {
    ValidatedCase tensors;
    std::vector<std::pair<std::string, CounterErrors>> cards;
  };
  if (job_of && is_watched(lines.front())) {
    std::vector<ValidatedGroup> groups = validate_watched(lines, path, job_of);
    for (ValidatedGroup& g : groups) summarise(g);
    return groups;
  }
  if (is_measurement(lines.front())) return validate_measurements(lines, path);
  std::vector<Line> done(lines.size());
  parallel_for(lines.size(), [&](std::size_t i) {
    const std::string where = fmt::format("{}:{}", path, i + 1);
    if (is_allocator_trace(lines[i])) {
      done[i].tensors = validate_trace(read_allocator_trace(lines[i], where));
      return;
    }
    const GoldenCase g = read_golden(lines[i], where);
    done[i].tensors = validate_case(g);
    for (const GoldenCounters& c : g.counters) done[i].cards.emplace_back(c.gpu, validate_counters(g, c));
  });
  const std::string stem = std::filesystem::path(path).stem().string();
  ValidatedGroup tensors;
  tensors.name = stem;
  std::map<std::string, ValidatedGroup> counters;
  for (Line& line : done) {
    tensors.rows.push_back(std::move(line.tensors));
    for (auto& [gpu, errors] : line.cards) {
      counters[fmt::format("{}@{}.allocated", stem, gpu)].rows.push_back(std::move(errors.allocated));
      counters[fmt::format("{}@{}.reserved", stem, gpu)].rows.push_back(std::move(errors.reserved));
    }
  }
  std::vector<ValidatedGroup> groups{std::move(tensors)};
  for (auto& [name, group] : counters) {
    group.name = name;
    groups.push_back(std::move(group));
  }
  for (ValidatedGroup& g : groups) summarise(g);
  return groups;
}

bool within_bounds(const ValidatedGroup& g) {
  return !g.judged || (g.parameters_exact == g.expressed && g.held_exact == g.expressed && g.exact == g.expressed);
}

std::vector<std::pair<std::string, std::size_t>> reasons_not_expressed(const std::vector<ValidatedGroup>& groups) {
  std::map<std::string, std::set<std::string>> cases;  // a case may stand in several groups
  for (const ValidatedGroup& g : groups)
    for (const ValidatedCase& c : g.rows)
      if (!c.not_expressed.empty()) cases[c.not_expressed].insert(c.id);
  std::vector<std::pair<std::string, std::size_t>> out;
  out.reserve(cases.size());
  for (const auto& [why, ids] : cases) out.emplace_back(why, ids.size());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace vramplan
