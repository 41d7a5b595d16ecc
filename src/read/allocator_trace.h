// A trace of PyTorch's CUDA caching allocator: what was asked of it, and the counters it showed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

struct AllocatorTrace {
  std::string id, conf;
  Bytes capacity;
  double fraction = 0;               ///< of set_per_process_memory_fraction; 0: none was set
  std::vector<std::int64_t> events;  ///< n >= 0 asks for n bytes and gets the next id; -k-1 releases id k
  Bytes peak_allocated, peak_reserved, end_allocated, end_reserved;
  std::int64_t retries = 0;
};

/// Whether a line of a golden file is a trace rather than a training case.
bool is_allocator_trace(std::string_view line);
/// Throws UserError.
AllocatorTrace read_allocator_trace(std::string_view line, const std::string& where);

}  // namespace vramplan
