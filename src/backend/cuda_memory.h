// The card's memory, by our own caching allocator over the driver's segments: the one whose simulation predicts
// `reserved`, so that prediction and run place every tensor alike. One stream.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "allocator/caching.h"
#include "backend/cuda_driver.h"

namespace vramplan {

class CudaMemory final : private SegmentSource {
 public:
  /// The driver must outlive this. Throws UserError for expandable segments: they are simulated only.
  CudaMemory(CudaDriver& driver, const AllocatorOptions& options);
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  /// Throws UserError with status 4 when the card has no more, even after cached segments went back.
  std::byte* allocate(Bytes n);
  void release(std::byte* p);

  CachingAllocator& allocator() { return allocator_; }

 private:
  bool take(std::uint64_t address, std::uint64_t bytes) override;
  void give(std::uint64_t address) override;

  CudaDriver& driver_;
  CachingAllocator allocator_;
  std::map<std::uint64_t, std::uint64_t> segments_;  ///< the allocator's address, and the driver's
  std::unordered_map<std::byte*, CachingAllocator::Handle> handles_;
  std::vector<CachingAllocator::Handle> spare_;
};

}  // namespace vramplan
