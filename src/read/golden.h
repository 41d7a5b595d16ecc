// Golden files: one training configuration a line, with the live bytes that PyTorch had at each instant. What of a case
// cannot be expressed yet is told apart from what is wrong.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/ledger.h"
#include "vramplan/model/config.h"
#include "vramplan/train/options.h"

namespace vramplan {

struct GoldenStep {
  Tally peak_forward, after_forward, peak_backward, after_backward, peak_optimizer, after_step, end, peak;
};

struct GoldenRow {
  std::string category, op, node, dtype, shape;
  std::int64_t count = 0;
  Bytes bytes;
};

/// Counters of PyTorch's CUDA caching allocator at the peak of step 2, on one kind of card.
struct GoldenCounters {
  std::string gpu;
  Device device;
  Bytes allocated, reserved;
};

struct GoldenCase {
  std::string id, group;
  std::string not_expressed;  ///< why, or empty
  ModelConfig config;
  TrainOptions options;
  std::int64_t parameters = 0, trainable = 0;
  Tally ready, held;                               ///< without `steps`, held.rounded is not known and 0
  std::optional<std::array<GoldenStep, 2>> steps;  ///< nothing where only the counters of cards are known
  std::vector<GoldenRow> held_rows, peak_rows;
  std::string peak_phase;
  std::vector<GoldenCounters> counters;
};

/// One line. Throws UserError when it is not a golden case at all.
GoldenCase read_golden(std::string_view line, const std::string& where);

}  // namespace vramplan
