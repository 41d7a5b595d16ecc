#include "read/training_keys.h"

#include <algorithm>
#include <iterator>

namespace vramplan {
namespace {

constexpr TrainingKey kTrainingKeys[]{
#include "read/training_keys.inc"
};

constexpr bool before(const TrainingKey& a, const TrainingKey& b) { return a.name < b.name; }
static_assert(std::is_sorted(std::begin(kTrainingKeys), std::end(kTrainingKeys), before));

}  // namespace

const TrainingKey* training_key(std::string_view name) {
  const auto* const found = std::lower_bound(std::begin(kTrainingKeys), std::end(kTrainingKeys), name,
                                             [](const TrainingKey& k, std::string_view n) { return k.name < n; });
  return found == std::end(kTrainingKeys) || found->name != name ? nullptr : found;
}

}  // namespace vramplan
