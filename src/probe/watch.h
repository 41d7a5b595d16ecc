// Somebody else's training command, run unchanged on a real card, and the most memory that it took: exact where
// PyTorch's counters or the driver's accounting tell, else as a bound with the number of looks and the longest gap
// between them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probe/sampler.h"
#include "rehearse/workplace.h"

namespace vramplan {

/// PyTorch's own counters of one process on one device.
struct TorchPeak {
  std::int64_t pid = 0, rank = 0;
  int device = 0;             ///< as the process numbers them
  std::string torch;          ///< version
  Bytes allocated, reserved;  ///< max_memory_allocated, max_memory_reserved
  std::int64_t retries = 0;
};

struct WatchedCard {
  SampledCard sampled;
  std::map<std::int64_t, Bytes> accounted;  ///< by process: the most it held in its life, by the driver
};

struct WatchReport {
  std::vector<std::string> command;
  int status = 0;  ///< 128 + n when signal n ended it
  std::vector<TorchPeak> torch;
  std::vector<WatchedCard> cards;
  std::size_t left_running = 0;  ///< processes of the command that outlive it
  std::vector<std::string> warnings;
};

struct WatchOptions {
  std::vector<std::string> command;
  HookFiles hook;  ///< empty: PyTorch is not asked
  SamplerPeriods periods;
};

/// Runs the command to its end. Without a driver only PyTorch is asked, and a warning says so. Throws UserError when
/// the command cannot be started (127 or 126).
WatchReport watch(const WatchOptions& options);

/// The worst process and device by reserved bytes.
const TorchPeak* worst_of(const WatchReport& r);

}  // namespace vramplan
