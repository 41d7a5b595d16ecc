#include "vramplan/estimate/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/parallel.h"
#include "estimate/dry_run.h"
#include "estimate/overhead.h"
#include "train/checkpoint_policy.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

constexpr std::size_t kLargest = 10;

void check(const Job& job) {
  const TrainOptions& r = job.run;
  auto need = [](bool ok, std::string what, const char* where, std::string hint) {
    if (!ok) throw UserError(std::move(what), where, std::move(hint), Exit::usage);
  };
  need(r.micro_batch >= 1 && r.micro_batch <= 1 << 24, "the micro-batch must be at least 1", "--micro-batch",
       "give the sequences one card takes at a time");
  need(r.seq >= 1, "the sequence length must be at least 1", "--seq", "give tokens per sequence: --seq 2048");
  need(r.accumulate >= 1 && r.accumulate <= 100000, "micro-batches per step must be 1 to 100,000", "--accumulate",
       "1 means no accumulation");
  need(job.model.position != PositionKind::learned || r.seq <= job.model.positions,
       fmt::format("a sequence of {} is longer than the {} learned positions of the model", r.seq, job.model.positions),
       "--seq", fmt::format("at most --seq {}", job.model.positions));
  cut_layers(r.checkpoint, job.model.layers);
}

std::string tensor_name(const Record& r) {
  const std::string_view module = r.place.module;
  return module.empty() || module == "weights" || r.op == std::string_view("parameter")
             ? std::string(r.op)
             : fmt::format("{} {}", module, r.op);
}

/// Same origin, type and shape; names are literals, so their addresses tell them apart within a run.
bool same_kind(const Record& a, const Record& b) {
  return a.op == b.op && a.place.module == b.place.module && a.dtype == b.dtype && a.shape == b.shape;
}

std::size_t hash_of(const Record& r, Category c) {
  std::size_t h = static_cast<std::size_t>(c) * 31 + static_cast<std::size_t>(r.dtype);
  for (std::int64_t d : r.shape) h = h * 1000003 + static_cast<std::size_t>(d);
  return h * 1000003 + std::hash<const void*>{}(r.op) + 7 * std::hash<const void*>{}(r.place.module);
}

struct Kind {
  const Record* example = nullptr;
  Category category = Category::temporary;
  int first_layer = 0, last_layer = 0;
  std::int64_t count = 0;
  Bytes bytes;
};

std::vector<Kind> group(const Ledger& ledger, const std::vector<Ledger::Alive>& alive) {
  std::vector<Kind> kinds;
  std::unordered_multimap<std::size_t, std::size_t> index;
  for (const Ledger::Alive& a : alive) {
    const Record& r = ledger.record(a.record);
    const std::size_t h = hash_of(r, a.category);
    auto [it, end] = index.equal_range(h);
    while (it != end && !(kinds[it->second].category == a.category && same_kind(*kinds[it->second].example, r))) ++it;
    if (it == end) {
      it = index.emplace(h, kinds.size());
      kinds.push_back({&r, a.category, r.place.layer, r.place.layer, 0, {}});
    }
    Kind& k = kinds[it->second];
    k.first_layer = std::min(k.first_layer, r.place.layer);
    k.last_layer = std::max(k.last_layer, r.place.layer);
    ++k.count;
    k.bytes += r.bytes;
  }
  return kinds;
}

std::vector<PeakTensor> kinds_alive(const Ledger& ledger, const std::vector<Ledger::Alive>& alive) {
  std::vector<PeakTensor> out;
  for (const Kind& k : group(ledger, alive)) {
    const Record& r = *k.example;
    PeakTensor t{
        tensor_name(r), k.category, std::string(name_of(r.dtype)), to_string(r.shape), k.first_layer, k.last_layer,
        k.count,        k.bytes};
    // The same literal may stand at two addresses: kinds that read alike are one.
    auto same = std::find_if(out.begin(), out.end(), [&](const PeakTensor& o) {
      return o.category == t.category && o.name == t.name && o.dtype == t.dtype && o.shape == t.shape;
    });
    if (same == out.end()) {
      out.push_back(std::move(t));
      continue;
    }
    same->first_layer = std::min(same->first_layer, t.first_layer);
    same->last_layer = std::max(same->last_layer, t.last_layer);
    same->count += t.count;
    same->bytes += t.bytes;
  }
  std::stable_sort(out.begin(), out.end(), [](const PeakTensor& a, const PeakTensor& b) { return a.bytes > b.bytes; });
  return out;
}

/// Categories of the peak, each with its kinds of tensors, then the rows that no tensor accounts for.
ByteRow make_tree(const std::vector<PeakTensor>& kinds, const Ledger::Peak& peak, Bytes requested, const Overhead& o,
                  const Counters& c) {
  std::map<Category, ByteRow> categories;
  for (const PeakTensor& k : kinds) {
    ByteRow& row = categories.try_emplace(k.category, ByteRow{std::string(name_of(k.category)), {}, {}}).first->second;
    row.children.push_back({fmt::format("{} {} {}", k.name, k.dtype, k.shape), k.bytes, {}});
    row.bytes += k.bytes;
  }
  ByteRow root{"device used at the peak", c.device_used, {}};
  for (auto& [category, row] : categories) root.children.push_back(std::move(row));
  root.children.push_back({"[rounding to 512-byte blocks]", peak.tally.rounded - requested, {}});
  root.children.push_back({"[cublas workspace]", o.workspace, {}});
  root.children.push_back({"[allocator slack]", o.slack, {}});
  root.children.push_back({"[cuda context]", o.context, {}});
  return root;
}

Bytes device_used(const Ledger::Peak& peak, const Overhead& o) {
  return peak.tally.rounded + o.workspace + o.slack + o.context;
}

void judge(Estimate& e) {
  if (!e.job.card) return;
  e.counters.capacity = e.job.card->usable > e.job.reserve ? e.job.card->usable - e.job.reserve : Bytes();
  e.margin = static_cast<std::int64_t>(e.counters.capacity.count()) -
             static_cast<std::int64_t>(e.counters.device_used.count());
  const auto doubt = static_cast<std::int64_t>(e.uncertainty.count());
  e.verdict = e.margin < 0 ? Verdict::does_not_fit : e.margin < doubt ? Verdict::tight : Verdict::fits;
}

struct Variant {
  const char* change;
  bool (*apply)(TrainOptions&);  ///< false when it would change nothing
};

/// Changes in the order people would rather make them; each is run, not guessed.
constexpr Variant kVariants[]{
    {"--attention sdpa",
     [](TrainOptions& r) { return r.attention == AttentionForm::eager && (r.attention = AttentionForm::sdpa, true); }},
    {"--optimizer-form fused",
     [](TrainOptions& r) {
       return r.optimizer.form != OptimizerForm::fused && (r.optimizer.form = OptimizerForm::fused, true);
     }},
    {"--checkpoint per-layer",
     [](TrainOptions& r) {
       return r.checkpoint.kind != CheckpointKind::per_layer &&
              (r.checkpoint = {CheckpointKind::per_layer, 0, false}, true);
     }},
    {"--checkpoint per-layer --optimizer-form fused",
     [](TrainOptions& r) {
       if (r.checkpoint.kind == CheckpointKind::per_layer || r.optimizer.form == OptimizerForm::fused) return false;
       r.checkpoint = {CheckpointKind::per_layer, 0, false};
       r.optimizer.form = OptimizerForm::fused;
       return true;
     }},
    {"half the micro-batch, twice the accumulation",
     [](TrainOptions& r) { return r.micro_batch > 1 && (r.micro_batch /= 2, r.accumulate *= 2, true); }},
    {"--precision bf16",
     [](TrainOptions& r) {
       return parameter_type(r.precision) == DType::fp32 && (r.precision = Precision::bf16, true);
     }},
    {"half the sequence length", [](TrainOptions& r) { return r.seq > 1 && (r.seq /= 2, true); }},
};

void advise(Estimate& e, const Overhead& o) {
  if (e.verdict == Verdict::fits || e.verdict == Verdict::unknown) return;
  std::vector<Advice> tried(std::size(kVariants));
  parallel_for(tried.size(), [&](std::size_t i) {
    TrainOptions changed = e.job.run;
    if (!kVariants[i].apply(changed)) return;
    const DryRun run(e.job.model, changed);
    const Bytes used = device_used(run.peak(), o);
    tried[i] = {kVariants[i].change, used, used <= e.counters.capacity};
  });
  for (Advice& a : tried)
    if (!a.change.empty() && a.peak < e.counters.device_used) e.advice.push_back(std::move(a));
}

void describe(Estimate& e, const Overhead& o) {
  e.assumptions = e.job.assumptions;
  e.warnings = e.job.warnings;
  e.assumptions.push_back(
      fmt::format("context {}, not measured on this card (0.25 to 0.9 GiB seen)", format_gib(o.context)));
  e.assumptions.push_back(
      fmt::format("one cuBLAS workspace of {} at the peak; it is there only while a matrix product runs",
                  format_bytes(o.workspace)));
  e.assumptions.push_back(
      "allocator slack as with expandable segments; ordinary segments fragment more (in the uncertainty)");
  e.assumptions.push_back(
      "kernels and lifetimes of PyTorch 2.15 and transformers 5.24; step 2 is reported, when optimizer states exist");
  if (e.job.run.checkpoint.kind != CheckpointKind::none && e.job.model.layers == 1)
    e.warnings.push_back("with one layer, checkpointing saves nothing: the whole model is recomputed at once");
  if (e.job.card && e.job.card->compute_capability > 0 && e.job.card->compute_capability < 80 &&
      parameter_type(e.job.run.precision) == DType::bf16)
    e.warnings.push_back(fmt::format("{} has no bf16 arithmetic; use fp16 or fp32", e.job.card->name));
}

}  // namespace

std::string_view name_of(Verdict v) {
  switch (v) {
    case Verdict::fits: return "fits";
    case Verdict::tight: return "tight";
    case Verdict::does_not_fit: return "does not fit";
    case Verdict::unknown: return "no card given";
  }
  return "";
}

Estimate estimate(const Job& job) {
  check(job);
  Estimate e;
  e.job = job;
  const DryRun run(job.model, job.run);
  const Overhead o = default_overhead(job.card);
  e.parameters = e.trainable = parameter_count(job.model);
  e.states = run.states();
  e.held = run.held();
  e.phases = run.phases();
  e.peak = run.peak().tally.requested;
  e.peak_phase = run.peak_phase();
  const std::vector<PeakTensor> kinds = kinds_alive(run.ledger(), run.ledger().alive(run.peak().at));
  e.tensors.assign(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(std::min(kinds.size(), kLargest)));
  e.counters.allocated = run.peak().tally.rounded + o.workspace;
  e.counters.reserved = e.counters.allocated + o.slack;
  e.counters.device_used = e.counters.reserved + o.context;
  for (const UncertaintyPart& p : uncertainty_parts(e.counters.allocated)) {
    e.uncertainty_parts.push_back({p.name, p.bytes, {}});
    e.uncertainty += p.bytes;
  }
  e.step_flops = run.flops();
  if (job.run.checkpoint.kind != CheckpointKind::none) {
    TrainOptions plain = job.run;
    plain.checkpoint = {};
    const DryRun without(job.model, plain);
    e.without_checkpointing = Without{without.peak().tally.requested, without.held()};
    e.recompute_flops = run.flops() - without.flops();
  }
  judge(e);
  e.tree = make_tree(kinds, run.peak(), e.peak, o, e.counters);
  describe(e, o);
  advise(e, o);
  return e;
}

namespace {

void check_row(const ByteRow& row, std::vector<std::string>& out) {
  if (row.children.empty()) return;
  Bytes sum;
  std::set<std::string> names;
  for (const ByteRow& c : row.children) {
    sum += c.bytes;
    if (!names.insert(c.name).second)
      out.push_back(fmt::format("two children of '{}' are called '{}'", row.name, c.name));
    check_row(c, out);
  }
  if (sum != row.bytes)
    out.push_back(fmt::format("the children of '{}' sum to {} B, not {} B", row.name, sum.count(), row.bytes.count()));
}

}  // namespace

std::vector<std::string> broken_invariants(const Estimate& e) {
  std::vector<std::string> out;
  check_row(e.tree, out);
  if (e.tree.bytes != e.counters.device_used) out.push_back("the tree does not sum to the device bytes");
  Bytes highest;
  for (const PhasePeak& p : e.phases) highest = std::max(highest, p.peak);
  if (highest != e.peak)
    out.push_back(fmt::format("the highest phase has {} B, the peak {} B", highest.count(), e.peak.count()));
  if (e.held > e.peak) out.push_back("more is held than the peak");
  if (e.counters.allocated > e.counters.reserved || e.counters.reserved > e.counters.device_used)
    out.push_back("the counters are not in order");
  return out;
}

}  // namespace vramplan
