// Verdicts as exit statuses, and --strict, which asks for more than "does it run".
#pragma once
#include "cli/command.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

inline Flag strict_flag(bool& target, const char* help, const char* group = "Output") {
  return {"--strict", "", help, &target, group, true};
}

/// What --strict does to one verdict.
inline Exit status_of(Verdict v, bool strict) {
  return v == Verdict::does_not_fit || (strict && v == Verdict::tight) ? Exit::does_not_fit : Exit::fits;
}

/// Of many verdicts, which are an answer and no failure unless --strict asks.
inline Exit status_of_many(bool strict, bool all_fit) { return strict && !all_fit ? Exit::does_not_fit : Exit::fits; }

}  // namespace vramplan
