// From a card's advertised size to what a process may use of it, link by link.
#pragma once
#include "allocator/caching.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {

/// Each link with its origin and never larger than the one before; the last but one is the capacity against which
/// `device used` is held, the last what it leaves to PyTorch beside a context of this size. Empty without a card.
std::vector<CapacityLink> capacity_chain(const Job& job, Bytes context);

/// The last link but one; 0 without a card.
Bytes capacity_of(const Job& job, Bytes context);

/// The job's PYTORCH_ALLOC_CONF, with the limit that --memory-fraction sets for its garbage collection. The capacity is
/// left open. Throws UserError.
AllocatorOptions allocator_of(const Job& job);

}  // namespace vramplan
