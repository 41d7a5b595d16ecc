// The peak of tensors for a range of micro-batches, exactly, from a few of them. With the same events, every tensor is
// a straight line of the micro-batch, so is every instant, and the peak is the highest of them: convex. So it lies
// above the lines through the first two and the last two micro-batches of a range, and where it is on them at both
// sides of their corner, it is nowhere else. Where not, the range is cut there.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "plan/composed.h"

namespace vramplan {

class MicroBatches {
 public:
  /// Of a job whose micro-batch is `from` to `to`. Throws as Composition does.
  MicroBatches(const Job& job, std::int64_t from, std::int64_t to);
  /// As Composition::peaks, of requested bytes; any micro-batch of at least 1. Not for several threads at once.
  Bytes peak(std::int64_t layers, std::int64_t segments, std::int64_t micro_batch);
  /// How many micro-batches were composed so far.
  std::size_t composed() const { return at_.size(); }

 private:
  struct Cut {
    std::int64_t layers, segments;
    auto operator<=>(const Cut&) const = default;
  };
  /// Bytes from micro-batch low to high.
  struct Line {
    std::int64_t low, high;
    Bytes at_low, each;  ///< each: a sequence more
    Bytes at(std::int64_t b) const { return at_low + each * static_cast<std::uint64_t>(b - low); }
  };
  Composition& at(std::int64_t micro_batch);
  Bytes exact(const Cut& cut, std::int64_t micro_batch);
  /// Through a micro-batch and the next; nothing when it falls.
  std::optional<Line> line(const Cut& cut, std::int64_t micro_batch, std::int64_t low, std::int64_t high);
  /// Keeps the lines found between low and high; returns where to cut that range when it has more of them, or `high`.
  std::int64_t explore(const Cut& cut, std::int64_t low, std::int64_t high);

  Job job_;
  std::int64_t from_, to_;
  std::map<std::int64_t, std::unique_ptr<Composition>> at_;
  std::map<Cut, std::vector<Line>> lines_;
};

}  // namespace vramplan
