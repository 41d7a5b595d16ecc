#include "backend/cuda_memory.h"

#include <fmt/format.h>

#include "vramplan/base/error.h"

namespace vramplan {

CudaMemory::CudaMemory(CudaDriver& driver, const AllocatorOptions& options)
    : driver_(driver), allocator_(options, *this) {
  if (options.expandable)
    throw UserError("expandable segments are simulated, not run", "--allocator", "probe with --allocator native",
                    Exit::usage);
}

CudaMemory::~CudaMemory() {
  for (const auto& [address, segment] : segments_) try {
      driver_.release(segment);
    } catch (const UserError&) {  // after a failed kernel the driver takes nothing back; the context's end does
    }
}

std::byte* CudaMemory::allocate(Bytes n) {
  const auto handle = spare_.empty() ? static_cast<CachingAllocator::Handle>(handles_.size()) : spare_.back();
  if (!allocator_.allocate(n, handle))
    throw UserError(fmt::format("the card has no {} more: {} allocated, {} reserved, {} free", format_bytes(n),
                                format_bytes(allocator_.allocated()), format_bytes(allocator_.reserved()),
                                format_bytes(driver_.memory().free)),
                    "out of memory", "take a smaller micro-batch, or more segments", Exit::out_of_memory);
  if (!spare_.empty()) spare_.pop_back();
  const std::uint64_t address = allocator_.address(handle);
  const auto segment = std::prev(segments_.upper_bound(address));
  auto* p = reinterpret_cast<std::byte*>(segment->second + (address - segment->first));  // NOLINT: the card's
  handles_.emplace(p, handle);
  return p;
}

void CudaMemory::release(std::byte* p) {
  const auto found = handles_.find(p);
  allocator_.release(found->second);
  spare_.push_back(found->second);
  handles_.erase(found);
}

bool CudaMemory::take(std::uint64_t address, std::uint64_t bytes) {
  const auto segment = driver_.allocate(Bytes(bytes));
  if (segment) segments_.emplace(address, *segment);
  return segment.has_value();
}

void CudaMemory::give(std::uint64_t address) {
  driver_.release(segments_.at(address));
  segments_.erase(address);
}

}  // namespace vramplan
