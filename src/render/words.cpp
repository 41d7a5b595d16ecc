#include "render/words.h"

#include <fmt/format.h>

namespace vramplan {

std::string checkpoint_word(const Checkpointing& c) {
  const char* variant = c.reentrant ? ",reentrant" : "";
  switch (c.kind) {
    case CheckpointKind::none: return "none";
    case CheckpointKind::per_layer: return fmt::format("per-layer{}", variant);
    case CheckpointKind::segments: return fmt::format("segments:{}{}", c.n, variant);
    case CheckpointKind::sequential: return fmt::format("sequential:{}{}", c.n, variant);
  }
  return "?";
}

}  // namespace vramplan
