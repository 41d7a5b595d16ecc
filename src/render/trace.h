// A timeline as JSON: our own document, and the trace event format of Chrome and Perfetto, where an event of the ledger
// takes a microsecond.
#pragma once
#include <string>

#include "vramplan/estimate/timeline.h"

namespace vramplan {

std::string timeline_trace(const Timeline& t);
/// {"kind": "timeline", "events", "peak", "samples": [{"event", "phase", "layer", "module", "live", "categories"}]}
std::string timeline_json(const Timeline& t, const Job& job);

}  // namespace vramplan
