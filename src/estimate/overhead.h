// What a card gives away besides tensors: context, workspace, allocator slack. Each with its default, its range and
// where they are from.
#pragma once
#include "vramplan/estimate/job.h"

namespace vramplan {

struct Overhead {
  Bytes context;    ///< CUDA context, modules and loaded kernels
  Bytes workspace;  ///< cuBLAS, taken from the allocator by each matrix product and given back: counted at every peak,
                    ///< an upper bound
  Bytes slack;      ///< segments of the caching allocator that no tensor fills
};

/// Context 0.60 GiB (0.25 to 0.9 seen, by architecture, driver and loaded kernels). Workspace: 32 MiB on sm_90, else
/// 8,519,680 bytes (CublasHandlePool.cpp). Slack: one partly filled large and one small segment, 20 + 2 MiB, as with
/// expandable segments (CUDACachingAllocator.cpp).
Overhead default_overhead(const std::optional<Card>& card);

struct UncertaintyPart {
  std::string name;
  Bytes bytes;
};
/// How far the figure may be off, part by part: the context's range, and fragmentation of ordinary segments.
std::vector<UncertaintyPart> uncertainty_parts(Bytes allocated);

}  // namespace vramplan
