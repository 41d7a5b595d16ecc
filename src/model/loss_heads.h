// Language-model heads with their losses, one function a form.
#pragma once
#include <vector>

#include "tape/tape.h"
#include "vramplan/model/loss.h"

namespace vramplan {

struct ModelOutput {
  Tensor loss, logits;         ///< logits null where the caller never sees them
  std::vector<Tensor> rest{};  ///< keys and values, when the model fills a cache; an encoder's last hidden state
};

/// The loss of a classifier's logits [b, l]: labels int64 [b], or numbers [b, l] ([b] of one label's regression).
Tensor label_loss(Tape& t, LossForm form, const Tensor& logits, const Tensor& labels);
/// The last matrix, [v, h].
struct Head {
  const Tensor& weight;
  double divisor = 0;  ///< of the logits; 0: they are not divided
};
/// Takes the only reference to hidden [b, s, h]; labels int64 [b, s], or as label_loss takes them.
ModelOutput loss_head(Tape& t, const LossChoice& choice, Tensor hidden, const Head& head, const Tensor& labels);

}  // namespace vramplan
