// A user's own program on a card that is not there: what PyTorch's counters showed, and whether the card would have
// been enough. Bytes are exact where the program does the same on a real card.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rehearse/workplace.h"
#include "train/words.h"
#include "vramplan/estimate/estimate.h"
#include "vramplan/estimate/timeline.h"

namespace vramplan {

struct RehearsedPhase {
  std::string name;  ///< "forward", "backward" (recomputation in it), "optimizer" (clipping in it)
  Bytes allocated, reserved;
};

/// Peaks between two optimizer steps.
struct RehearsedStep {
  Bytes allocated, reserved;
  std::vector<RehearsedPhase> phases;  ///< in the order of the step
};

struct RehearsedDevice {
  int device = 0;             ///< as the process numbers them
  Bytes allocated, reserved;  ///< max_memory_allocated, max_memory_reserved
  Bytes device_used;          ///< all that the process took of the card, its context with it
  Bytes collectives;          ///< of those, buffers of groups of ranks: a stated default
  Bytes inactive_split;       ///< most that lay free in pieces of segments otherwise in use
  std::int64_t retries = 0, refusals = 0;
  std::vector<RehearsedStep> steps;
};

/// Allocations alive at the peak that one line of the program made.
struct RehearsedPlace {
  std::string kind;           ///< weights, gradients, optimizer states, activations, ...
  std::string place, during;  ///< "train.py:12 forward"; forward or setup, backward, recompute, optimizer
  Bytes bytes;
  std::int64_t count = 0;
};

/// A line that reads from the card, and how often.
struct RehearsedRead {
  std::string place;
  std::int64_t count = 0;
};

struct RehearsedProcess {
  std::int64_t pid = 0, rank = 0, steps = 0;
  std::int64_t steps_on_card = 0;    ///< of those, in which kernels were launched
  bool ended = true;                 ///< as Python ends; false: by a signal, after it had used the card
  bool missed = false;               ///< PyTorch was imported past the hook: its counters were not read
  std::vector<std::string> command;  ///< words; known where the process used the card
  std::string torch;                 ///< version; empty: the process did not import PyTorch
  bool cuda_build = false;           ///< of PyTorch
  std::string out_of_memory;         ///< the first line of its error
  std::vector<RehearsedDevice> devices;
  std::vector<RehearsedPlace> places;              ///< largest first
  std::vector<RehearsedRead> reads;                ///< most frequent first
  Timeline timeline;                               ///< of the whole run, setup with it; empty without places
  std::vector<std::string> assumptions;            ///< where the program asks the card and the answer was settled
  std::map<std::string, std::int64_t> unanswered;  ///< calls that failed for want of an answer, and how often
  std::map<std::string, std::int64_t> workspaces;  ///< calls in which a library was told that it needs no workspace
  std::int64_t zero_reads = 0;                     ///< copies to the host that were answered with zeros
};

struct Rehearsal {
  std::vector<std::string> command;
  int status = 0;  ///< the program's exit status; 128 + n when a signal ended it
  Card card;
  int cards = 1;
  Bytes context;
  std::vector<RehearsedProcess> processes;  ///< those that used PyTorch or the card
  Counters counters;                        ///< of the worst device
  std::int64_t worst_rank = 0;
  std::int64_t margin = 0;
  Verdict verdict = Verdict::unknown;  ///< unknown: what ran is no evidence, see `missing`
  std::vector<std::string> missing;    ///< what a verdict would need, the most telling first; empty when there is one
  std::set<std::string> assumptions;
  std::vector<std::string> warnings;
  std::optional<Card> smallest;  ///< the card with the least memory that holds what was used
};

/// The device that came closest to its card's end, and whose it is; nothing where none was used.
struct WorstDevice {
  const RehearsedProcess* process;
  const RehearsedDevice* device;
};
std::optional<WorstDevice> worst_device(const Rehearsal& r);

/// Which experts tokens go to, where the program reads that from the card: evenly to all, or all to the same few.
enum class Routing { uniform, skewed };
inline constexpr Word<Routing> kRoutings[]{{"uniform", Routing::uniform}, {"skewed", Routing::skewed}};

struct RehearsalOptions {
  std::vector<std::string> command;
  int cards = 1;
  int world = 1;           ///< run as rank 0 of so many, without the others
  std::int64_t steps = 0;  ///< end the program after so many optimizer steps; 0: let it run
  bool strict = false;     ///< no verdict when a call had no answer here
  bool places = true;      ///< remember which lines allocate
  bool padded = false;     ///< attention masks mask something
  Routing routing = Routing::uniform;
  std::string library;  ///< folder of the virtual GPU; empty: beside this program
};

/// Runs the command on virtual cards like the job's (its card, context, reserve and allocator; the rest is not read)
/// and waits for it. `hook` are the Python files that are put before the program's modules. Throws UserError when there
/// is no card, no virtual GPU beside the program, or the command cannot be started (status 127 or 126 as a shell has
/// it).
///
/// `cards` are those among which the smallest that suffices is looked for.
Rehearsal rehearse(const Job& job, const RehearsalOptions& options, const HookFiles& hook,
                   const std::vector<Card>& cards = {});

}  // namespace vramplan
