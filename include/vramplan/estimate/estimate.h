// The answer: a tree of labelled bytes, the peak of each phase, the verdict against the card, assumptions, warnings,
// advice. Plain data; `estimate` is pure.
//
// The bloaty invariant holds for every estimate: children sum to their parent, names are unique among siblings, every
// byte of the peak has a label, and what is not modelled is a bracketed row of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "vramplan/estimate/job.h"
#include "vramplan/tensor/category.h"

namespace vramplan {

enum class Verdict { fits, tight, does_not_fit, unknown };  ///< tight: inside the uncertainty; unknown: no card given
std::string_view name_of(Verdict v);

struct ByteRow {
  std::string name;
  Bytes bytes;
  std::vector<ByteRow> children;
};

/// What the last matrix makes and the loss makes of it: tensors as wide as the vocabulary, or as a classifier's labels.
struct Logits {
  std::int64_t tokens = 0, width = 0;
  Bytes largest;              ///< one of them
  Bytes together;             ///< alive at once, at most in the step
  Phase phase = Phase::init;  ///< when they are
  Bytes at_peak;              ///< alive at the step's peak
};

struct PhasePeak {
  Phase phase;
  Bytes peak;  ///< of tensors, as requested
};

/// Tensors of one kind alive at the peak: same origin, type and shape.
struct PeakTensor {
  std::string name;  ///< "self_attn softmax"
  Category category = Category::temporary;
  std::string dtype, shape;
  int first_layer = -1, last_layer = -1;
  std::int64_t count = 0;
  Bytes bytes;  ///< of all of them
};

struct Counters {
  Bytes allocated;    ///< torch.cuda.max_memory_allocated: tensors in 512-byte blocks, and the workspace
  Bytes reserved;     ///< max_memory_reserved
  Bytes device_used;  ///< what nvidia-smi shows for the process
  Bytes capacity;     ///< what the process may use on the card; 0 without a card
  Bytes workspace;    ///< of allocated: cuBLAS's
  Bytes scratch;      ///< of allocated: what other kernels had taken for themselves
};

/// Highest from the first step to the second: there are no gradients and optimizer states before.
struct FirstStep {
  Bytes peak;                 ///< of tensors, as requested
  Bytes allocated, reserved;  ///< as in Counters, on a card that is large enough
};

/// A segment of the caching allocator and its blocks, in order of address.
struct SegmentMap {
  bool small = false;  ///< of the pool for requests up to 1 MiB
  struct Block {
    Bytes size;
    bool used;
  };
  std::vector<Block> blocks;
};

/// One step from a card's advertised size to what PyTorch may use, and where the figure is from.
struct CapacityLink {
  std::string name;
  Bytes bytes;
  std::string origin;
};

/// A kernel that torch's scaled_dot_product_attention takes in the step.
struct AttentionKernel {
  std::string name;  ///< "flash", "cuDNN", "efficient", "math"
  std::string
      passed_over;  ///< why a faster one was not taken: "flash: it takes no mask"; empty where none was passed over
};

struct Without {
  Bytes peak, held;  ///< tensors, without checkpointing
};

/// Seconds of one step by a roofline: every kernel as slow as its arithmetic, its traffic or its launch.
struct StepTime {
  double forward = 0, recompute = 0, backward = 0, optimizer = 0;  ///< loss and evaluation belong to forward
  double total() const { return forward + recompute + backward + optimizer; }
  double tokens_a_second = 0;
  std::string card;  ///< whose peaks were taken
};

/// A change that was run, or several at once.
struct Advice {
  std::string flags;             ///< "--checkpoint per-layer"; "without --x" for one to take away
  std::string setting;           ///< the same for a framework; empty where there is none
  std::string consequence;       ///< what else changes; empty: nothing
  Bytes device_used;             ///< with the change
  std::int64_t saved = 0;        ///< of device used, in bytes
  std::optional<double> slower;  ///< seconds a token, as a share more; negative is faster; nothing: not known
  Verdict verdict = Verdict::unknown;
};

struct AdviceList {
  std::vector<Advice> levers;        ///< those that save anything, the most GiB for the least time first
  std::vector<Advice> cards;         ///< the next larger one
  std::optional<Advice> set;         ///< the fewest levers together with which it fits; nothing: one does, or none do
  std::vector<std::string> in_vain;  ///< what cannot help here, and why
};

struct Estimate {
  Job job;
  Verdict verdict = Verdict::unknown;
  std::int64_t margin = 0;  ///< capacity less device used, in bytes; negative when it does not fit
  Bytes uncertainty;
  std::vector<ByteRow> uncertainty_parts;
  Counters counters;
  std::vector<CapacityLink> capacity;  ///< empty without a card
  std::int64_t parameters = 0, trainable = 0;
  Bytes states;                  ///< parameters, master weights and optimizer states: alive at all times
  Bytes host;                    ///< of optimizer states and weights in the host's memory: paged or offloaded
  Bytes held;                    ///< alive after forward beyond states and inputs
  std::optional<Logits> logits;  ///< nothing: the model has none, or only a summary was asked for
  std::vector<PhasePeak> phases;
  Phase peak_phase = Phase::init;
  Bytes peak;                       ///< of tensors, as requested
  FirstStep first_step;             ///< everything else is of the second
  std::vector<PeakTensor> tensors;  ///< the ten largest kinds
  ByteRow tree;
  std::optional<Without> without_checkpointing;
  std::optional<StepTime> time;                    ///< nothing: the rates are unknown, or the host takes part
  double step_flops = 0, recompute_flops = 0;      ///< matrix products and attention of one step
  std::vector<AttentionKernel> attention_kernels;  ///< empty where attention is eager
  std::vector<std::string> assumptions, warnings;
  std::optional<AdviceList> advice;  ///< when asked for
  std::vector<SegmentMap> segments;  ///< at the allocated peak, when the job asks for them
};

/// How far the figures can be trusted: low for what no card and no golden file of PyTorch's own has confirmed.
enum class Confidence { high, low };
Confidence confidence_of(const Job& job);
std::string_view name_of(Confidence c);

/// Runs two training steps dry and reports the second. Throws UserError for a job that cannot be run, Overflow for
/// sizes beyond 64 bits.
Estimate estimate(const Job& job);

/// What to change: each lever is a run of its own. `cards` are those to look for a larger one among.
AdviceList advise(const Estimate& e, const std::vector<Card>& cards);

/// The same without breakdown, tensors, comparison and advice: verdict, counters, peaks and FLOPs. For searches, which
/// ask many times.
Estimate assess(const Job& job);

/// The same; nothing where the job cannot be run, for searches over cards: one may lack the kernels or the type.
std::optional<Estimate> assess_if_runnable(const Job& job);

/// Defects of an estimate against the bloaty invariant; empty when it holds.
std::vector<std::string> broken_invariants(const Estimate& e);

}  // namespace vramplan
