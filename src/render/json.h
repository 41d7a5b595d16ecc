// Estimates, explanations and validations as JSON documents. Bytes are integers; keys keep their order.
#pragma once
#include <string>
#include <vector>

#include "validate/validate.h"
#include "vramplan/base/error.h"
#include "vramplan/estimate/estimate.h"
#include "vramplan/estimate/explain.h"

namespace vramplan {

std::string estimate_json(const Estimate& e);
std::string explain_json(const Explanation& e);
/// `worst`: where they were asked for.
std::string validate_json(const std::vector<ValidatedGroup>& groups,
                          const std::optional<std::vector<WorstCase>>& worst = {});
std::string cards_json(const std::vector<Card>& cards);
std::string card_facts_json(const std::vector<CardFact>& facts);
struct ModelLine {
  std::string name;
  ModelConfig config;
};
std::string models_json(const std::vector<ModelLine>& models);
std::string error_json(const UserError& e);

}  // namespace vramplan
