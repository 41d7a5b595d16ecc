// Hugging Face TrainingArguments, as the Trainer or a script saves them (training_args.json, args.json), as flags.
// Source: transformers, training_args.py; SFTConfig of trl for the sequence length.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "read/job_file.h"

namespace vramplan {

bool is_training_args(const nlohmann::ordered_json& file);

/// Throws UserError for a value that has no counterpart (an optimizer that is not modelled, parallelism).
JobFile read_training_args(const nlohmann::ordered_json& file, const std::string& where);

}  // namespace vramplan
