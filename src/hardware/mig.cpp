// Multi-instance GPU: a part of a card as a card of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "vramplan/base/error.h"
#include "vramplan/hardware/card.h"

namespace vramplan {
namespace {

/// Slices of arithmetic and of memory that go together (NVIDIA's MIG user guide): of 7 and 8, of an A30 of 4 and 4.
struct Profile {
  int compute, memory;
};
constexpr Profile kOfSeven[]{{1, 1}, {1, 2}, {2, 2}, {3, 4}, {4, 4}, {7, 8}};
constexpr Profile kOfFour[]{{1, 1}, {2, 2}, {4, 4}};

std::string name_of(const Profile& p, int parts, const Card& card) {
  const double gb = static_cast<double>(card.nominal.count()) / static_cast<double>(kGiB) * p.memory / parts;
  return fmt::format("{}g.{}gb", p.compute, std::lround(gb + 0.01));  // halves are rounded up: 1g.18gb of 141
}

}  // namespace

Card mig_slice(const Card& card, std::string_view profile) {
  const bool four = card.id == "a30", seven = card.compute_capability == 80 || card.compute_capability == 90 ||
                                              card.compute_capability == 100 || card.compute_capability == 103;
  if (!four && !seven)
    throw UserError(fmt::format("{} cannot be cut into MIG slices", card.name), "--mig",
                    "A30, A100, H100, H200 and B200 can; leave it out", Exit::usage);
  const int parts = four ? 4 : 8, units = four ? 4 : 7;
  std::vector<std::string> known;
  const auto choose = [&](const Profile& p) -> std::optional<Card> {
    known.push_back(name_of(p, parts, card));
    if (known.back() != profile) return std::nullopt;
    Card slice = card;
    const double share = static_cast<double>(p.compute) / units, memory = static_cast<double>(p.memory) / parts;
    slice.id = fmt::format("{}:{}", card.id, profile);
    slice.name = fmt::format("{} MIG {}", card.name, profile);
    slice.multiprocessors = static_cast<int>(card.multiprocessors * share);
    slice.nominal = Bytes(static_cast<std::uint64_t>(static_cast<double>(card.nominal.count()) * memory));
    // A100 40GB: 4.75, 9.75, 19.62, 39.50 GiB of 5, 10, 20, 40 (MIG user guide, table of profiles).
    slice.usable = Bytes(slice.nominal.count() / 100 * 95);
    slice.driver_total = Bytes();
    slice.usable_basis = "estimate: 95 % of the slice (NVIDIA's MIG guide shows 95 to 99 %)";
    slice.bandwidth_gbs *= memory;
    slice.tflops = {card.tflops.fp32 * share, card.tflops.fp16 * share, card.tflops.bf16 * share,
                    card.tflops.int8 * share};
    return slice;
  };
  if (four)
    for (const Profile& p : kOfFour)
      if (auto slice = choose(p)) return *slice;
  if (!four)
    for (const Profile& p : kOfSeven)
      if (auto slice = choose(p)) return *slice;
  throw UserError(fmt::format("{} has no MIG slice '{}'", card.name, profile), "--mig",
                  fmt::format("known: {}", fmt::join(known, ", ")), Exit::usage);
}

}  // namespace vramplan
