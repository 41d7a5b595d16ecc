#include "vramplan/estimate/explain.h"

#include <fmt/format.h>

#include "estimate/dry_run.h"
#include "estimate/explain_time.h"
#include "train/checkpoint_policy.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

std::uint64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t n = 1;
  for (std::int64_t f : factors) n = checked_multiply(n, f);
  return static_cast<std::uint64_t>(n);
}

Bytes held_with(const Job& job, std::int64_t layers, const Checkpointing& policy) {
  Job changed = job;
  changed.model.layers = layers;
  changed.run.checkpoint = policy;
  return DryRun(check_job(changed)).held();
}

/// What one more layer holds: the difference of two depths, so that embeddings, head and loss drop out.
Bytes held_by_a_layer(const Job& job) {
  Job trained = job;
  trained.run.frozen_layers.reset();
  return held_with(trained, 2, {}) - held_with(trained, 1, {});
}

std::int64_t activation_bytes(const TrainOptions& r) {
  return item_size(autocast_type(r.precision).value_or(parameter_type(r.precision)));
}

FormulaRow fixed_row(const CheckedJob& checked, std::int64_t parameters) {
  const Job& job = checked.job();
  const DryRun run(checked);
  Bytes gradients = storage_bytes(parameter_type(job.run.precision), trainable_count(job.model, job.run));
  if (freezes_model(job.run))
    gradients = storage_bytes(adapters_of(job.model, job.run).dtype, adapter_count(job.model, job.run));
  return {"fixed",
          "2P + 2P + 12P",
          fmt::format("16 x {}", format_count(parameters)),
          fixed_mixed(parameters),
          run.states() + gradients,
          has_master_weights(job.run.precision)
              ? "found: weights, gradients, master weights and states of this job"
              : "the textbook keeps fp32 master weights; this job's precision and optimizer decide what is found"};
}

void add_segment_rows(const Job& job, std::vector<FormulaRow>& rows, Bytes layer) {
  const std::vector<LayerRun> runs = cut_layers(job.run.checkpoint, job.model.layers);
  const TrainOptions& r = job.run;
  const std::int64_t h = job.model.hidden, b = r.micro_batch, s = r.seq, L = job.model.layers, p = activation_bytes(r);
  const auto n = static_cast<std::int64_t>(runs.size());
  rows.push_back(
      {"simple", fmt::format("(N+1) b s h p + 2 b s h p  [N = {}]", n),
       fmt::format("({} + 1 + 2) x {} x {} x {} x {}", n, b, s, h, p), simple_segments(n, b, s, h, p), std::nullopt,
       fmt::format(
           "the recompute peak is a segment of {} layers, not 2 of them, and a layer keeps far more than its input",
           (L + n - 1) / n)});
  const Bytes kept = held_with(job, L, r.checkpoint);
  rows.push_back({"boundaries", "(N+1) b s h p", fmt::format("({} + 1) x {} x {} x {} x {}", n, b, s, h, p),
                  boundaries(n, b, s, h, p), kept,
                  "found: all that is held after forward: boundaries, final norm, loss head, rotary tables or masks"});
  std::int64_t longest = 0;
  for (const LayerRun& run : runs) longest = std::max(longest, run.count);
  rows.push_back({"recompute peak", "ceil(L/N) layers", fmt::format("{} x {}", longest, format_bytes(layer)),
                  layer * static_cast<std::uint64_t>(longest), std::nullopt,
                  "on top of the boundaries, while one segment is run again; gradients and temporaries of backward are "
                  "not in it"});
}

}  // namespace

Bytes fixed_mixed(std::int64_t parameters) { return Bytes(static_cast<std::uint64_t>(parameters)) * 16; }
Bytes simple_activations(std::int64_t layers, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t p) {
  return Bytes(product({layers, b, s, h, p}));
}
Bytes simple_segments(std::int64_t n, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t p) {
  return boundaries(n, b, s, h, p) + Bytes(product({2, b, s, h, p}));
}
Bytes korthikanti_layer(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t a) {
  return Bytes(product({34, s, b, h})) + Bytes(product({5, a, s, s, b}));
}
Bytes boundaries(std::int64_t n, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t p) {
  return Bytes(product({checked_add(n, 1), b, s, h, p}));
}

Explanation explain(const Job& job) {
  const CheckedJob checked = check_job(job);
  if (job.model.two_stacks())
    throw UserError("the textbook's formulas describe one stack of layers, and this model has two", "--model",
                    "'vramplan estimate' and 'vramplan curve' run the whole step", Exit::usage);
  Explanation e;
  e.job = job;
  e.parameters = parameter_count(job.model);
  const TrainOptions& r = job.run;
  const std::int64_t h = job.model.hidden, a = job.model.heads, b = r.micro_batch, s = r.seq, L = job.model.layers,
                     p = activation_bytes(r);
  e.rows.push_back(fixed_row(checked, e.parameters));
  const Bytes layer = held_by_a_layer(job), all = held_with(job, L, {});
  e.rows.push_back(
      {"simple", "L b s h p", fmt::format("{} x {} x {} x {} x {}", L, b, s, h, p), simple_activations(L, b, s, h, p),
       all,
       fmt::format("a real layer keeps 34 + 5as/h = {:.0f} bytes for each token and channel, not {}",
                   34 + 5.0 * static_cast<double>(a) * static_cast<double>(s) / static_cast<double>(h), p)});
  e.rows.push_back({"layer", "34 s b h + 5 a s^2 b",
                    fmt::format("34 x {} x {} x {} + 5 x {} x {}^2 x {}", s, b, h, a, s, b),
                    korthikanti_layer(b, s, h, a), layer,
                    "the paper's block: 16 bits, eager attention, dropout; this job's attention, norm and precision "
                    "decide what is found"});
  e.rows.push_back(
      {"layers", "L (34 s b h + 5 a s^2 b)", fmt::format("{} x {}", L, format_bytes(korthikanti_layer(b, s, h, a))),
       korthikanti_layer(b, s, h, a) * static_cast<std::uint64_t>(L), all,
       "found: all that is held after forward without checkpointing, with embeddings, final norm and loss head"});
  if (r.checkpoint.kind != CheckpointKind::none) add_segment_rows(job, e.rows, layer);
  e.recompute = recompute_rows(job);
  return e;
}

}  // namespace vramplan
