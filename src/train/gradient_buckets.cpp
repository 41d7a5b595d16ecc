#include "train/gradient_buckets.h"

#include <algorithm>
#include <limits>
#include <map>

namespace vramplan {
namespace {

constexpr std::int64_t kFirst = 1 << 20, kLater = 25 << 20;  // kDefaultFirstBucketBytes, bucket_cap_mb

std::int64_t elements(const TensorImpl& x) { return count(x.shape); }

}  // namespace

GradientBuckets::GradientBuckets(Tape& t, const std::vector<Parameter>& parameters, bool views)
    : tape_(t), views_(views) {
  for (const Parameter& p : parameters) leaves_.push_back(&p.tensor.impl());
  {
    std::map<DType, std::int64_t> sent;
    for (const TensorImpl* leaf : leaves_) sent[leaf->dtype] += elements(*leaf);
    Restore category(t.memory().category, Category::communication_buffer);
    for (const auto& [dtype, n] : sent) t.memory().empty({n}, dtype, "flat parameters");
  }
  make(leaves_, std::numeric_limits<std::int64_t>::max());
  t.after_accumulate = [this](TensorImpl& leaf) { arrived(leaf); };
}

GradientBuckets::~GradientBuckets() { tape_.after_accumulate = nullptr; }

/// compute_bucket_assignment_by_size: a bucket is closed once it reaches its limit.
void GradientBuckets::make(const std::vector<TensorImpl*>& order, std::int64_t first_limit) {
  struct Open {
    std::vector<TensorImpl*> members;
    std::int64_t bytes = 0, limit;
  };
  std::map<DType, Open> open;
  for (TensorImpl* leaf : order) {
    Open& o = open.try_emplace(leaf->dtype, Open{{}, 0, first_limit}).first->second;
    o.members.push_back(leaf);
    o.bytes += elements(*leaf) * item_size(leaf->dtype);
    if (o.bytes < o.limit) continue;
    close(o.members);
    o.bytes = 0;
    o.limit = kLater;
  }
  for (auto& [dtype, o] : open)
    if (!o.members.empty()) close(o.members);
}

void GradientBuckets::close(std::vector<TensorImpl*>& members) {
  std::int64_t n = 0;
  for (const TensorImpl* leaf : members) {
    place_of_[leaf] = {buckets_.size(), n};
    n += elements(*leaf);
  }
  Restore category(tape_.memory().category, Category::communication_buffer);
  buckets_.push_back(tape_.memory().empty({n}, members.front()->dtype, "gradient bucket"));
  members.clear();
}

void GradientBuckets::before_forward() {
  if (rebuilt_ || order_.empty()) return;
  rebuilt_ = true;
  buckets_.clear();
  place_of_.clear();
  make(order_, kFirst);
}

/// The gradient is copied into its bucket; with views that copy becomes the gradient.
void GradientBuckets::arrived(TensorImpl& leaf) {
  const auto found = place_of_.find(&leaf);
  if (found == place_of_.end()) return;
  if (!rebuilt_ && std::find(order_.begin(), order_.end(), &leaf) == order_.end()) order_.push_back(&leaf);
  const Tensor& bucket = buckets_[found->second.bucket];
  const Tensor view(make_ref<TensorImpl>(bucket->storage, leaf.shape, contiguous_strides(leaf.shape),
                                         found->second.offset, leaf.dtype));
  if (leaf.grad->storage.get() != bucket->storage.get()) tape_.backend().unary(Unary::copy, view, Tensor(leaf.grad), 0);
  if (views_) leaf.grad = view.ref();
}

}  // namespace vramplan
