// What the bytes of the peak are: kinds of tensors, and the tree that sums to the device bytes.
#pragma once
#include "estimate/overhead.h"
#include "tensor/ledger.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// The tensors alive at an instant, grouped by origin, type and shape; the largest group first.
std::vector<PeakTensor> kinds_alive(const Ledger& ledger, const std::vector<Ledger::Alive>& alive);

/// Categories of the peak, each with its kinds of tensors, then bracketed rows for what no tensor accounts for.
ByteRow make_tree(const std::vector<PeakTensor>& kinds, const Tally& peak, const Overhead& o, const Counters& c);

}  // namespace vramplan
