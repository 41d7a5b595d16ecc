#include "plan/composed.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "base/fnv.h"
#include "estimate/dry_run.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// Bytes as requested and as rounded, signed.
struct Pair {
  std::int64_t requested = 0, rounded = 0;
  Pair& operator+=(const Pair& o) {
    requested += o.requested, rounded += o.rounded;
    return *this;
  }
  friend Pair operator+(Pair a, const Pair& b) { return a += b; }
  friend Pair operator-(const Pair& a, const Pair& b) { return {a.requested - b.requested, a.rounded - b.rounded}; }
  friend Pair operator*(std::int64_t n, const Pair& p) { return {n * p.requested, n * p.rounded}; }
  friend Pair highest(const Pair& a, const Pair& b) {
    return {std::max(a.requested, b.requested), std::max(a.rounded, b.rounded)};
  }
};

/// What a stretch of events adds, and how high it reaches above its start.
struct Block {
  Pair delta, peak;
  friend Block operator+(const Block& a, const Block& b) {
    return {a.delta + b.delta, highest(a.peak, a.delta + b.peak)};
  }
};

/// A stretch of one phase and one layer (-1: outside the layers).
struct Stretch {
  Phase phase;
  std::int32_t layer;
  Block block;
};

/// The stretches between two instants; an event belongs to the layer and phase of the allocation before it.
std::vector<Stretch> stretches(const Ledger& ledger, Ledger::Instant from, Ledger::Instant to) {
  std::vector<Stretch> out;
  for (Ledger::Instant i = from; i < to; ++i) {
    const Event& e = ledger.events()[i];
    if (e.kind != Event::Kind::allocate && e.kind != Event::Kind::release) continue;
    const Record& r = ledger.record(e.record);
    const bool made = e.kind == Event::Kind::allocate;
    if (out.empty() || (made && (out.back().phase != e.phase || out.back().layer != r.place.layer)))
      out.push_back({e.phase, r.place.layer, {}});
    Block& b = out.back().block;
    const auto bytes = static_cast<std::int64_t>(r.bytes.count()),
               blocks = static_cast<std::int64_t>((r.bytes.count() + kBlock - 1) / kBlock * kBlock);
    b.delta += made ? Pair{bytes, blocks} : Pair{-bytes, -blocks};
    b.peak = highest(b.peak, b.delta);
  }
  return out;
}

/// A way through a segment in one phase: what comes before its repeated layers, one or all of those, what comes after.
struct Turn {
  Phase phase;
  Block before, repeated, after;
  bool seen = false;  ///< a repeated layer
  Block& part(bool is_repeated) { return is_repeated ? repeated : seen ? after : before; }
};
using Passage = std::vector<Turn>;

/// One micro-batch: forward is head, segments, loss; backward is its start, the segments from the last, and tail.
struct Micro {
  Block head, loss, start, tail;
  std::vector<Passage> forward, backward;  ///< by segment of the short run
};

/// Cuts the stretches of one pass into the passages of equal segments of `size` layers.
class Cutter {
 public:
  Cutter(std::size_t segments, std::int64_t size) : size_(size), passages_(segments) {}

  /// Appends a stretch of a layer to the passage of its segment.
  void take(const Stretch& s) {
    const std::int64_t position = s.layer % size_;
    last_ = &passages_[static_cast<std::size_t>(s.layer / size_)];
    if (last_->empty() || last_->back().phase != s.phase) last_->push_back({s.phase, {}, {}, {}});
    repeated_ = position > 0 && position < size_ - 1;
    take_between(s.block);
    last_->back().seen = last_->back().seen || repeated_;
  }
  /// A stretch outside the layers that came among them belongs to the one before it.
  void take_between(const Block& b) {
    Block& part = last_->back().part(repeated_);
    part = part + b;
  }
  std::vector<Passage> done() { return std::move(passages_); }

 private:
  std::int64_t size_;
  std::vector<Passage> passages_;
  Passage* last_ = nullptr;
  bool repeated_ = false;
};

bool of_backward(Phase p) { return p == Phase::backward || p == Phase::recompute; }

Micro cut_micro(const std::vector<Stretch>& all, std::size_t segments, std::int64_t size) {
  Micro m;
  Cutter forward(segments, size), backward(segments, size);
  auto last_layer = [&](bool back) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].layer >= 0 && of_backward(all[i].phase) == back) last = i + 1;
    return last;
  };
  const std::size_t forward_end = last_layer(false), backward_end = last_layer(true);
  bool started = false, returned = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Stretch& s = all[i];
    const bool back = of_backward(s.phase);
    if (s.layer >= 0) {
      (back ? returned : started) = true;
      (back ? backward : forward).take(s);
    } else if (!started) {
      m.head = m.head + s.block;
    } else if (i < forward_end) {
      forward.take_between(s.block);
    } else if (!returned) {
      Block& part = back ? m.start : m.loss;
      part = part + s.block;
    } else if (i < backward_end) {
      backward.take_between(s.block);
    } else {
      m.tail = m.tail + s.block;
    }
  }
  m.forward = forward.done();
  m.backward = backward.done();
  return m;
}

/// A run of a few layers, cut into blocks.
struct ShortRun {
  Pair start;                       ///< live when the second step begins
  std::uint64_t structure = 0;      ///< of its events
  std::vector<std::int64_t> sizes;  ///< of its tensors
  std::vector<Micro> micro;
  Block optimizer, evaluation;
};

/// What happens to which tensor in which phase, and the size of each. What kernels take for themselves is
/// no tensor.
void describe(const Ledger& ledger, Ledger::Instant end, ShortRun& out) {
  Fnv hash;
  std::vector<std::uint64_t> number;  // of tensors, by record
  for (Ledger::Instant i = 0; i < end; ++i) {
    const Event& e = ledger.events()[i];
    if (e.kind != Event::Kind::allocate && e.kind != Event::Kind::release) continue;
    if (e.kind == Event::Kind::allocate) {
      number.resize(e.record + std::size_t{1});
      number[e.record] = out.sizes.size();
      out.sizes.push_back(static_cast<std::int64_t>(ledger.record(e.record).bytes.count()));
    }
    for (const std::uint64_t part : {std::uint64_t(e.kind), number[e.record], std::uint64_t(e.phase)}) hash.add(part);
  }
  out.structure = hash.value();
}

ShortRun short_run(Job job, std::size_t segments, std::int64_t size, bool checkpointed) {
  job.model.layers = static_cast<std::int64_t>(segments) * size;
  const Checkpointing& asked = job.run.checkpoint;
  if (checkpointed)
    job.run.checkpoint = {
        CheckpointKind::cuts, 0, asked.reentrant, {}, asked.on_host, std::vector<std::int64_t>(segments, size)};
  else
    job.run.checkpoint = {};
  const DryRun run(check_job(std::move(job)));
  const StepMarks& step = run.second_step();
  ShortRun out;
  const Tally live = run.ledger().live(step.micro[0].forward);
  out.start = {static_cast<std::int64_t>(live.requested.count()), static_cast<std::int64_t>(live.rounded.count())};
  for (std::size_t i = 0; i < step.micro.size(); ++i) {
    const Ledger::Instant end = i + 1 < step.micro.size() ? step.micro[i + 1].forward : step.clip;
    out.micro.push_back(cut_micro(stretches(run.ledger(), step.micro[i].forward, end), segments, size));
  }
  auto whole = [&](Ledger::Instant from, Ledger::Instant to) {
    Block b;
    for (const Stretch& s : stretches(run.ledger(), from, to)) b = b + s.block;
    return b;
  };
  out.optimizer = whole(step.clip, step.end);
  out.evaluation = whole(step.end, step.after);
  describe(run.ledger(), step.after, out);
  return out;
}

}  // namespace

struct Composition::Parts {
  Job job;
  std::map<std::array<std::int64_t, 3>, ShortRun> runs;

  const ShortRun& run(std::int64_t segments, std::int64_t size, bool checkpointed) {
    const std::array<std::int64_t, 3> key{segments, size, checkpointed};
    auto found = runs.find(key);
    if (found == runs.end())
      found = runs.emplace(key, short_run(job, static_cast<std::size_t>(segments), size, checkpointed)).first;
    return found->second;
  }
};

std::string why_not_composable(const Job& job) {
  if (job.model.two_stacks()) return "the layers of an encoder and of a decoder differ";
  if (job.run.frozen_layers) return "frozen layers keep other things than trained ones";
  if (job.run.fp8) return "8-bit layers keep states that their first pass makes";
  if (job.run.ddp) return "buckets of gradients are cut by their size, not by layers";
  if (job.run.optimizer.in_backward) return "a step in backward makes each layer's states where its gradient was";
  if (job.run.grad_scaler) return "a GradScaler stands between backward and step";
  if (job.run.clip) return "clipping stacks a norm for each parameter, which is rounded up as one tensor";
  if (job.run.optimizer.kind == OptimizerKind::muon) return "Muon works on one matrix after the other";
  if (job.model.window && (job.model.full_layers != 0 || job.model.full_every != 0))
    return "layers with a window and without differ";
  return {};
}

Composition::Composition(const Job& job) : parts_(std::make_unique<Parts>()) {
  (void)check_job(job);
  if (const std::string why = why_not_composable(job); !why.empty())
    throw UserError("its layers cannot be composed: " + why, "composition", "run the whole step");
  parts_->job = job;
}

Composition::~Composition() = default;

namespace {

bool evenly(const ShortRun& low, const ShortRun& middle, const ShortRun& high, std::int64_t below, std::int64_t above) {
  if (low.structure != middle.structure || middle.structure != high.structure) return false;
  for (std::size_t i = 0; i < low.sizes.size(); ++i) {
    const std::int64_t first = middle.sizes[i] - low.sizes[i], second = high.sizes[i] - middle.sizes[i];
    if (first % below != 0 || second % above != 0 || first / below != second / above) return false;
  }
  return true;
}

/// Where a segment is taken from: its place in the short run of `run`, and for one of more than 3 layers the same with
/// a layer more: what is let go of at the end of a turn (casts under autocast) grows with the layers.
struct Origin {
  const ShortRun* run;
  const ShortRun* longer;
  std::size_t segment;
  std::int64_t size;  ///< layers, in the composed job
};

/// `at` and `next` are a step apart; what is there `steps` further than `at`. The peak comes before what grows.
Block grown(const Block& at, const Block& next, std::int64_t steps) {
  return {at.delta + steps * (next.delta - at.delta), at.peak};
}

/// The running sum and its highest.
class Sum {
 public:
  explicit Sum(const Pair& start) : live_(start), peak_(start) {}
  void add(const Block& b) {
    peak_ = highest(peak_, live_ + b.peak);
    live_ += b.delta;
  }
  void add_times(const Block& b, std::int64_t n) {
    if (n <= 0) return;
    add(b);
    // Every further one starts as far above the one before as that one added.
    const Pair last = live_ + (n - 1) * b.delta;
    peak_ = highest(peak_, (last - b.delta) + b.peak);
    live_ = last;
  }
  void add(const Origin& o, std::size_t micro, std::vector<Passage> Micro::*way) {
    const Passage& p = (o.run->micro[micro].*way)[o.segment];
    for (std::size_t i = 0; i < p.size(); ++i) {
      add(p[i].before);
      add_times(p[i].repeated, o.size - 2);
      if (o.longer)
        add(grown(p[i].after, (o.longer->micro[micro].*way)[o.segment][i].after, o.size - 3));
      else
        add(p[i].after);
    }
  }
  const Pair& peak() const { return peak_; }

 private:
  Pair live_, peak_;
};

}  // namespace

bool Composition::grow_evenly(const Composition& low, const Composition& middle, const Composition& high) {
  const auto &l = low.parts_->runs, &m = middle.parts_->runs, &h = high.parts_->runs;
  const std::int64_t below = middle.parts_->job.run.micro_batch - low.parts_->job.run.micro_batch,
                     above = high.parts_->job.run.micro_batch - middle.parts_->job.run.micro_batch;
  return std::all_of(m.begin(), m.end(), [&](const auto& run) {
    const auto in_low = l.find(run.first), in_high = h.find(run.first);
    return in_low != l.end() && in_high != h.end() && evenly(in_low->second, run.second, in_high->second, below, above);
  });
}

Composition::Peaks Composition::peaks(std::int64_t layers, std::int64_t segments) {
  if (layers < 1 || segments < 0 || segments > layers) throw std::out_of_range("segments of a composition");
  const bool checkpointed = segments > 0;
  const std::int64_t n = std::max<std::int64_t>(segments, 1), small = layers / n, longer = layers % n;
  auto short_size = [](std::int64_t size) { return std::min<std::int64_t>(size, 3); };
  std::vector<Origin> origins;
  origins.reserve(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t size = small + (j < longer ? 1 : 0), like = short_size(size);
    const std::int64_t like_segments = n == 1 ? 1 : 3;
    origins.push_back({&parts_->run(like_segments, like, checkpointed),
                       size > 3 ? &parts_->run(like_segments, 4, checkpointed) : nullptr,
                       static_cast<std::size_t>(j == 0       ? 0
                                                : j == n - 1 ? 2
                                                             : 1),
                       size});
  }
  // What is there between steps and what the optimizer does grow by the same with every layer.
  const std::int64_t few = checkpointed ? 3 : 2, more = checkpointed ? 6 : 3;
  const ShortRun &less = checkpointed ? parts_->run(3, 1, true) : parts_->run(1, 2, false),
                 &greater = checkpointed ? parts_->run(3, 2, true) : parts_->run(1, 3, false);
  auto by_layers = [&](const Pair& a, const Pair& b) {
    const Pair step = b - a;
    return Pair{a.requested + (layers - few) * step.requested / (more - few),
                a.rounded + (layers - few) * step.rounded / (more - few)};
  };
  Sum sum(by_layers(less.start, greater.start));
  for (std::size_t m = 0; m < origins[0].run->micro.size(); ++m) {
    const Micro &first = origins.front().run->micro[m], &last = origins.back().run->micro[m];
    sum.add(first.head);
    for (const Origin& o : origins) sum.add(o, m, &Micro::forward);
    sum.add(Block{by_layers(less.micro[m].loss.delta, greater.micro[m].loss.delta), last.loss.peak});
    sum.add(last.start);
    for (std::size_t j = origins.size(); j-- > 0;) sum.add(origins[j], m, &Micro::backward);
    sum.add(first.tail);
  }
  for (const auto part : {&ShortRun::optimizer, &ShortRun::evaluation})
    sum.add(Block{by_layers((less.*part).delta, (greater.*part).delta),
                  by_layers((less.*part).peak, (greater.*part).peak)});
  const Pair peak = sum.peak();
  return {Bytes(static_cast<std::uint64_t>(peak.requested)), Bytes(static_cast<std::uint64_t>(peak.rounded))};
}

}  // namespace vramplan
