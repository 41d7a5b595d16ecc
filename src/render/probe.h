// What a probe found: for people and as JSON.
#pragma once
#include <optional>
#include <string>

#include "probe/train.h"
#include "vramplan/hardware/card.h"

namespace vramplan {

std::string probe_table(const Probe& p);
std::string probe_json(const Probe& p);
/// A file for --calibration: the context, shares of the peaks of `card` (as the catalogue has it) that were reached,
/// and what was measured. The share of products is cuBLAS's only: our own kernel says nothing of PyTorch. Throws
/// UserError without a card whose driver tells what this process has.
std::string calibration_json(const Probe& p, const std::optional<Card>& card);

}  // namespace vramplan
