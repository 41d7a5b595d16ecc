// A card as the planner needs it: what one process can allocate, and what decides kernels and times.
#pragma once
#include <string>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

struct Card {
  std::string id, name, vendor, architecture;
  int compute_capability = 0;  ///< 80 for 8.0; 0 when it is not an NVIDIA card
  int multiprocessors = 108;   ///< an A100's where the catalogue does not say
  Bytes nominal;               ///< advertised size, 2^30 bytes to the GB
  Bytes usable;                ///< what one process can allocate before its own context
  std::string usable_basis;    ///< how `usable` was found
  double bandwidth_gbs = 0;    ///< 10^9 bytes a second, peak; 0 when unknown
};

/// All cards of the catalogue, `text` being gpus.json. Throws UserError when it is damaged.
std::vector<Card> all_cards(std::string_view text);

/// The card a user means: an id, a name, an alias or what nvidia-smi prints, without regard to case, blanks and dashes.
/// A short name that fits several cards is an error listing them; an unknown one suggests. Throws UserError.
Card find_card(std::string_view text, std::string_view name);

/// A card that is not in the catalogue, known by its memory alone.
Card card_of_size(Bytes memory);

}  // namespace vramplan
