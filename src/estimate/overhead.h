// What a card gives away besides tensors: context and workspace. Each with its default, its range and where they are
// from.
#pragma once
#include "vramplan/estimate/job.h"

namespace vramplan {

struct Overhead {
  Bytes context;    ///< CUDA context, modules and loaded kernels
  Bytes workspace;  ///< cuBLAS, taken from the allocator by each matrix product and given back
};

/// 32 MiB from sm_90 on, before it :4096:2:16:8, 8,519,680 bytes (CublasHandlePool.cpp, getChosenWorkspaceSize).
Bytes workspace_bytes(int compute_capability);

/// Context as measured, else 0.60 GiB (0.25 to 0.9 seen, by architecture, driver and loaded kernels).
Overhead overhead_of(const Job& job);

/// What was seen of contexts on such a card, for people: "0.47 GiB seen on an A100 ...".
std::string context_seen(int compute_capability);

struct UncertaintyPart {
  std::string name;
  Bytes bytes;
};
/// How far the figure may be off, part by part.
std::vector<UncertaintyPart> uncertainty_parts(const Job& job);

}  // namespace vramplan
