// Parts of a layer that can be recomputed alone.
#pragma once

namespace vramplan {

struct RecomputedParts {
  bool attention = false;   ///< from queries, keys and values to the heads' outputs
  bool mlp = false;         ///< the whole feed-forward part
  bool activation = false;  ///< the activation function, and its product with the other branch
  bool norms = false;       ///< the two norms of a layer
  bool operator==(const RecomputedParts&) const = default;
};

}  // namespace vramplan
