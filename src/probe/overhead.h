// What a process takes of a card before its first tensor, step by step, and how much of what is left can be had.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

struct OverheadStep {
  std::string name;  ///< "primary context"
  Bytes taken;       ///< more than before it
};

struct UsableMemory {
  Bytes free;           ///< as the driver says
  Bytes largest_block;  ///< that could be had at once
  Bytes all_blocks;     ///< that could be had together, in blocks of 2 MiB and more
};

struct OverheadReport {
  std::string card, uuid;
  bool by_process = false;  ///< measured as the process's own memory; else as the device's, which others may change
  std::vector<OverheadStep> steps;
  Bytes context;  ///< their sum: what a process has before its first tensor
  std::optional<UsableMemory> usable;
  std::vector<std::string> warnings;
};

/// On the CUDA device of this number. `try_blocks`: takes all of its memory for a moment. Throws UserError when driver
/// or management library is missing.
OverheadReport probe_overhead(int device, bool try_blocks);

}  // namespace vramplan
