// What users ask for by name and this program knowingly does not model: parallelism, methods of training, models and
// optimizers. Saying so is better than offering the nearest known word, which means something else.
#pragma once
#include <string>
#include <string_view>

namespace vramplan {

/// What a word should have named. `word`: a flag, a command, or one of a few words.
enum class Meant { word, model, card };

/// "not modelled yet: ..." with the next step, whatever the word's dashes, case and publisher
/// ("mistralai/Mixtral-8x7B"); empty for every other word.
std::string not_modelled(std::string_view word, Meant meant);

}  // namespace vramplan
