// The words for what a byte is (category) and when it lived (phase). One meaning each, in code, JSON and docs.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace vramplan {

enum class Category : std::uint8_t {
  parameter,
  gradient,
  optimizer_state,
  master_weight,
  activation,
  boundary,
  recomputed_activation,
  activation_gradient,
  temporary,
  workspace,
  communication_buffer,
  input
};
inline constexpr std::array<std::string_view, 12> kCategoryNames{
    "parameter",  "gradient",  "optimizer state",       "master weight",
    "activation", "boundary",  "recomputed activation", "activation gradient",
    "temporary",  "workspace", "communication buffer",  "input"};

enum class Phase : std::uint8_t { init, forward, loss, recompute, backward, optimizer };
inline constexpr std::array<std::string_view, 6> kPhaseNames{"init",      "forward",  "loss",
                                                             "recompute", "backward", "optimizer"};

inline std::string_view name_of(Category c) { return kCategoryNames[static_cast<std::size_t>(c)]; }
inline std::string_view name_of(Phase p) { return kPhaseNames[static_cast<std::size_t>(p)]; }

}  // namespace vramplan
