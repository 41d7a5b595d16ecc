// The peaks of tensors for any number of layers and segments, from runs of a few layers. Identical layers leave
// identical marks in the ledger: what a layer's forward, recomputation and backward add and how high they reach above
// their start. These blocks are cut out of short runs and put together again for L layers in N segments. Exact to the
// byte for the jobs that `composable` names; everything that depends on the order of all events, as reserved memory
// does, needs the whole run.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vramplan/estimate/job.h"

namespace vramplan {

/// Why the job's layers leave no identical marks, or nothing when they do.
std::string why_not_composable(const Job& job);

class Composition {
 public:
  /// Of a job, whatever its number of layers and its checkpointing but for the variant (reentrant, offloaded). Throws
  /// as `estimate` does, and UserError for a job that is not composable.
  explicit Composition(const Job& job);
  ~Composition();
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;

  struct Peaks {
    Bytes requested, rounded;  ///< of tensors, in the second step, as sized and in 512-byte blocks
  };
  /// Segments 0: without checkpointing. Throws std::out_of_range unless 0 <= segments <= layers and layers >= 1. Not
  /// for several threads at once: short runs are made when first asked for.
  Peaks peaks(std::int64_t layers, std::int64_t segments);

  /// Of three whose jobs differ in their micro-batch only, and that have answered the same questions: whether their
  /// events are the same, one by one, and each tensor grows by the same with every sequence. Then the bytes of every
  /// instant are a straight line of the micro-batch, and a peak, as the highest of straight lines, is one too between
  /// two points if a third lies on their line. (Requested bytes: rounded ones go up in steps.)
  static bool grow_evenly(const Composition& low, const Composition& middle, const Composition& high);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace vramplan
