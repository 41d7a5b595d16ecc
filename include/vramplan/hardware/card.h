// A card as the planner needs it: what one process can allocate, and what decides kernels and times.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

/// Dense peaks in 10^12 operations a second, additions counted; 0 where the card has none or none is known.
struct Tflops {
  double fp32 = 0;            ///< outside the matrix units
  double fp16 = 0, bf16 = 0;  ///< of the matrix units, added up in fp32
  double int8 = 0;
};

struct Card {
  std::string id, name, vendor, architecture, category;
  int launch_year = 0;
  bool custom = false;         ///< made for one machine
  std::string note;            ///< what was assumed when the card was looked up; empty: nothing
  int compute_capability = 0;  ///< 80 for 8.0; 0 when it is not an NVIDIA card
  int multiprocessors = 108;   ///< an A100's where the catalogue does not say
  Bytes nominal;               ///< advertised size, 2^30 bytes to the GB
  Bytes driver_total;          ///< what nvidia-smi shows; 0 when unknown
  std::string driver_basis;    ///< observed, or rule
  Bytes usable;                ///< what one process can allocate before its own context
  std::string usable_basis;    ///< how `usable` was found
  double bandwidth_gbs = 0;    ///< 10^9 bytes a second, peak; 0 when unknown
  Bytes l2;                    ///< cache; 0 when unknown, as are the two below
  int bus_bits = 0;            ///< of the memory bus
  int clock_mhz = 0;           ///< boost
  Tflops tflops;
};

/// Whether the card multiplies bf16 numbers: all but NVIDIA's before sm_80.
inline bool has_bf16(const Card& c) { return c.compute_capability == 0 || c.compute_capability >= 80; }

/// All cards of the catalogue, `text` being gpus.json. Throws UserError when it is damaged.
std::vector<Card> all_cards(std::string_view text);

/// Those that current CUDA runs on (compute capability 7.0 and later), the least usable memory first.
std::vector<Card> cuda_cards(const std::vector<Card>& cards);

/// The card a user means: an id, a name, an alias or what nvidia-smi prints, without regard to case, blanks and dashes.
/// A short name that fits several cards is an error listing them; an unknown one suggests. Throws UserError.
Card find_card(std::string_view text, std::string_view name);

/// Ids and other names of all cards, as a user may write them.
std::vector<std::string> card_names(std::string_view text);

/// Cards of the user's own, in the form of 'gpus --json', of gpus.json or as a list: "id" and "memory_bytes" are
/// needed, and every other field is read or refused by its name. Throws UserError.
std::vector<Card> own_cards(std::string_view text, std::string_view where);

/// A slice by its profile ("3g.40gb"). Throws UserError for a card that has none such.
Card mig_slice(const Card& card, std::string_view profile);

/// Whether it is NVIDIA's, or a card whose maker nobody said: what the model of memory was made and checked for.
bool has_cuda(const Card& card);

/// One field of a card with its unit and where the figure is from.
struct CardFact {
  std::string field, value, unit, source;
};
/// All fields of the card with this id; empty when there is none.
std::vector<CardFact> card_facts(std::string_view text, const std::string& id);

/// A card that is not in the catalogue, known by its memory alone.
Card card_of_size(Bytes memory);

}  // namespace vramplan
