// What every key of transformers' TrainingArguments, and of the trainers built on them, does to the memory of a step.
#pragma once
#include <string_view>

namespace vramplan {

enum class KeyUse {
  used,        ///< read by read_training_args
  harmless,    ///< logging, saving, seeds, data: no tensor of a step depends on it
  evaluation,  ///< of evaluation between steps, which is not estimated: a warning
  memory       ///< changes the memory of a step and is not read: an error unless it is off
};

struct TrainingKey {
  std::string_view name;
  KeyUse use;
  std::string_view instead;      ///< of `memory`: the flag that says the same, or the next step
  std::string_view inert = {};   ///< the value, beside false, null, 0 and nothing, that changes nothing
  std::string_view within = {};  ///< the key without which this one changes nothing
};

/// Null for a key that is not known.
const TrainingKey* training_key(std::string_view name);

}  // namespace vramplan
