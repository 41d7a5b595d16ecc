// BART with a language-model head (BartForConditionalGeneration) as transformers 5.24 writes it (models/bart): an
// encoder that sees the source both ways, and a decoder that reads the target from left to right and looks at the
// encoder's last hidden state in every layer. Norms stand behind each part of a layer.
#pragma once
#include "model/forward.h"

namespace vramplan {

/// Token ids [b, s] and labels [b, t], which the decoder is given one place later, -> the target's logits [b, t, v] and
/// the mean cross-entropy.
ModelOutput bart(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch, const AttentionChoice& choice,
                 const RunStack& run);

}  // namespace vramplan
