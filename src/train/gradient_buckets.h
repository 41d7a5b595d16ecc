// The buckets of torch.nn.parallel.DistributedDataParallel (torch/csrc/distributed/c10d/reducer.cpp): flat tensors that
// hold all gradients for the reduction over replicas. One for all of a type at first; in the second forward pass they
// are made anew, of 1 MiB and then 25 MiB, in the order in which gradients arrived.
#pragma once
#include <unordered_map>
#include <vector>

#include "model/weights.h"

namespace vramplan {

class GradientBuckets {
 public:
  /// Makes the first buckets, after a flat copy of all parameters that is sent to the other replicas and dropped. With
  /// `views`, gradients are moved into the buckets as they arrive.
  GradientBuckets(Tape& t, const std::vector<Parameter>& parameters, bool views);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// To be called before each forward pass.
  void before_forward();

 private:
  void arrived(TensorImpl& leaf);
  void make(const std::vector<TensorImpl*>& order, std::int64_t first_limit);
  void close(std::vector<TensorImpl*>& members);

  struct Place {
    std::size_t bucket = 0;
    std::int64_t offset = 0;  ///< in elements
  };
  Tape& tape_;
  bool views_, rebuilt_ = false;
  std::vector<TensorImpl*> leaves_, order_;  ///< all, and those whose gradients have arrived, in that order
  std::unordered_map<const TensorImpl*, Place> place_of_;
  std::vector<Tensor> buckets_;
};

}  // namespace vramplan
