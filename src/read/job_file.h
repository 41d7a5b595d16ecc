// A job as a file: an object whose keys are flags, a document of ours (its "job" holds the flags that made it), or the
// TrainingArguments that Hugging Face's Trainer saves.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "vramplan/estimate/job.h"

namespace vramplan {

struct JobFile {
  std::vector<GivenFlag> flags;       ///< names are not checked here
  std::vector<std::string> warnings;  ///< settings that change memory and are not modelled
};

/// `where` names the file. Throws UserError.
JobFile read_job_file(std::string_view text, const std::string& where);

/// "--micro-batch", "micro_batch" and "micro-batch" are one flag, "--micro-batch".
std::string flag_named(std::string_view key);

}  // namespace vramplan
