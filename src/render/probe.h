// What a probe found: for people and as JSON.
#pragma once
#include <string>

#include "probe/train.h"

namespace vramplan {

std::string probe_table(const Probe& p);
std::string probe_json(const Probe& p);
/// A file for --calibration: the context, and the peaks and rates that were measured. Throws UserError without a card
/// whose driver tells what this process has.
std::string calibration_json(const Probe& p);

}  // namespace vramplan
