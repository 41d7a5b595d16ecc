// Published measurements: one row a line, a training run somebody made and the bytes he saw. What a row leaves open is
// not guessed: it is not expressed, for a stated reason.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "vramplan/base/bytes.h"
#include "vramplan/model/config.h"
#include "vramplan/train/options.h"

namespace vramplan {

/// What was read: a counter, or only that the run went through (fits) or not (oom) on a card of `value` bytes.
enum class MeasuredKind { allocated, reserved, device_used, fits, oom };

struct MeasuredRow {
  std::string id, source;     ///< source: the first word of the id, "litgpt"
  std::string kind_of_run;    ///< "single-gpu", "lora" or "several-gpus"
  std::string not_expressed;  ///< why, or empty
  bool states_all = false;    ///< completeness "high"
  ModelConfig config;
  TrainOptions options;
  MeasuredKind kind = MeasuredKind::allocated;
  Bytes value;
  bool after_context = false;  ///< of fits and oom: the bytes are what a context leaves
};

/// Whether a line is a measurement rather than a golden case.
bool is_measurement(std::string_view line);
/// One line. Throws UserError when it is not a measurement at all.
MeasuredRow read_measurement(std::string_view line, const std::string& where);

}  // namespace vramplan
