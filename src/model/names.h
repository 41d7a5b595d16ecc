// What a parameter is, by its name in the state dict.
#pragma once
#include <string>
#include <string_view>

#include "vramplan/model/config.h"

namespace vramplan {

inline bool is_embedding(std::string_view name) {
  if (name.find(".lora_") != std::string_view::npos) return false;
  return name.find("embed_tokens") != std::string_view::npos || name.find(".wte.") != std::string_view::npos ||
         name.find(".wpe.") != std::string_view::npos || name.find("_embeddings.") != std::string_view::npos ||
         name.find("embed_positions") != std::string_view::npos || name == "model.shared.weight";
}

/// Where layer i stands in the state dict.
inline std::string layer_name(Architecture a, std::int64_t i) {
  const char* stack = "model.layers.";
  switch (a) {
    case Architecture::gpt2: stack = "transformer.h."; break;
    case Architecture::bert: stack = "bert.encoder.layer."; break;
    case Architecture::roberta: stack = "roberta.encoder.layer."; break;
    case Architecture::distilbert: stack = "distilbert.transformer.layer."; break;
    case Architecture::bart: stack = "model.decoder.layers."; break;
    default: break;
  }
  return stack + std::to_string(i) + ".";
}

/// Where layer i of the encoder before a decoder stands.
inline std::string source_layer_name(std::int64_t i) { return "model.encoder.layers." + std::to_string(i) + "."; }

/// The feed-forward matrices of Llama's layer and of those like it, seen from the layer.
inline const char* up_path(Architecture a) { return a == Architecture::starcoder2 ? "mlp.c_fc" : "mlp.up_proj"; }
inline const char* down_path(Architecture a) { return a == Architecture::starcoder2 ? "mlp.c_proj" : "mlp.down_proj"; }

/// A parameter of one of the repeated layers.
inline bool in_layer(std::string_view name) {
  return name.find(".layers.") != std::string_view::npos || name.find(".layer.") != std::string_view::npos ||
         name.starts_with("transformer.h.");
}

}  // namespace vramplan
