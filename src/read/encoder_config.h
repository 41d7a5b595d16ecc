// config.json of models with an encoder.
#pragma once
#include <string>

#include "read/json_object.h"
#include "vramplan/model/config.h"

namespace vramplan {

/// An activation function by the name that transformers gives it; `key` is blamed for one that is not known.
MlpKind activation(const JsonObject& o, std::string_view key, const std::string& name);

void read_bert(const JsonObject& o, ModelConfig& c);
void read_roberta(const JsonObject& o, ModelConfig& c);
void read_distilbert(const JsonObject& o, ModelConfig& c);
void read_bart(const JsonObject& o, ModelConfig& c);

}  // namespace vramplan
