// Whether what ran says anything of a training step on the card: a verdict needs a process of which PyTorch's counters
// were read, that made steps on the card and came to its end.
#pragma once
#include <string>
#include <vector>

#include "rehearse/rehearsal.h"

namespace vramplan {

/// What a command line does that keeps the hook out of Python ("python -I ..."), or the environment from a program
/// ("env -i ..."), as a sentence; empty where it does nothing of the kind.
std::string why_unhooked(const std::vector<std::string>& words);

/// What a verdict would need, the most telling first; empty where nothing is missing. Running out of memory is evidence
/// by itself and not asked for here.
std::vector<std::string> missing_evidence(const Rehearsal& r, bool strict);

}  // namespace vramplan
