// What a parameter is, by its name in the state dict.
#pragma once
#include <string>
#include <string_view>

#include "vramplan/model/config.h"

namespace vramplan {

inline bool is_embedding(std::string_view name) {
  return name.find("embed_tokens") != std::string_view::npos || name.find(".wte.") != std::string_view::npos ||
         name.find(".wpe.") != std::string_view::npos;
}

/// Where layer i stands in the state dict.
inline std::string layer_name(Architecture a, std::int64_t i) {
  return (a == Architecture::gpt2 ? "transformer.h." : "model.layers.") + std::to_string(i) + ".";
}

/// A parameter of one of the repeated layers.
inline bool in_layer(std::string_view name) {
  return name.starts_with("model.layers.") || name.starts_with("transformer.h.");
}

}  // namespace vramplan
