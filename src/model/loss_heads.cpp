#include "model/loss_heads.h"

#include <algorithm>
#include <vector>

#include "tape/elementwise.h"
#include "tape/label_losses.h"
#include "tape/linear.h"
#include "tape/loss.h"
#include "tape/view.h"
#include "vramplan/model/config.h"

namespace vramplan {
namespace {

Tensor logits_of(Tape& t, const Tensor& hidden, const Head& head) {
  At here(t, "lm_head");
  const Tensor logits = linear(t, hidden, head.weight, {});
  return head.divisor == 0 ? logits : scale(t, logits, 1 / head.divisor, "div");
}

ModelOutput causal(Tape& t, const LossChoice&, const Tensor& hidden, const Head& head, const Tensor& labels) {
  const Tensor logits = logits_of(t, hidden, head);  // [b, s, v]
  At here(t, "loss");
  return {causal_lm_loss(t, logits, labels), logits};
}

ModelOutput shifted(Tape& t, const LossChoice&, const Tensor& hidden, const Head& head, const Tensor& labels) {
  Tensor logits = logits_of(t, hidden, head);
  At here(t, "loss");
  const std::int64_t s = labels.size(1);
  logits = cast(t, logits, DType::fp32);
  const Tensor kept = contiguous(t, slice(t, logits, 1, 0, s - 1));
  const Tensor targets = contiguous(t, slice(t, labels, 1, 1, s));
  const Tensor flat = view(t, kept, {-1, logits.size(-1)});
  return {cross_entropy(t, flat, view(t, targets, {-1})), logits};
}

ModelOutput plain(Tape& t, const LossChoice&, const Tensor& hidden, const Head& head, const Tensor& labels) {
  const Tensor logits = logits_of(t, hidden, head);
  At here(t, "loss");
  return {cross_entropy(t, view(t, logits, {-1, logits.size(-1)}), view(t, labels, {-1})), logits};
}

ModelOutput smoothed(Tape& t, const LossChoice&, Tensor& hidden, const Head& head, const Tensor& labels) {
  const Tensor logits = logits_of(t, hidden, head);
  hidden.reset();  // the loss is the trainer's, after the model has returned
  At here(t, "loss");
  return {smoothed_loss(t, logits, labels), logits};
}

/// Sizes of torch.chunk: equal but for the last.
std::vector<std::int64_t> chunk_sizes(std::int64_t n, std::int64_t chunks) {
  const std::int64_t each = (n + chunks - 1) / chunks;
  std::vector<std::int64_t> out;
  for (std::int64_t from = 0; from < n; from += each) out.push_back(std::min(each, n - from));
  return out;
}

// torchtune's CEWithChunkedOutputLoss. The mean of the parts' sums is taken as the mean of their means.
ModelOutput chunked(Tape& t, const LossChoice& choice, const Tensor& hidden, const Head& head, const Tensor& labels) {
  const std::vector<std::int64_t> sizes = chunk_sizes(hidden.size(1), choice.chunks);
  std::vector<Tensor> logits;
  for (const Tensor& part : split(t, hidden, 1, sizes)) logits.push_back(logits_of(t, part, head));
  At here(t, "loss");
  Tensor total;
  std::int64_t from = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Tensor targets = reshape(t, slice(t, labels, 1, from, from + sizes[i]), {-1});
    from += sizes[i];
    Tensor part;
    {
      const Tensor flat = reshape(t, logits[i], {-1, head.weight.size(0)});
      const Tensor wide = choice.upcast ? cast(t, flat, DType::fp32) : flat;
      part = cross_entropy(t, wide, targets);
    }
    total = total ? add_in_place(t, total, part) : shift(t, part, 0);
  }
  return {scale(t, total, 1.0 / static_cast<double>(sizes.size()), "div"), {}};
}

ModelOutput fused_linear(Tape& t, const LossChoice&, const Tensor& hidden, const Head& head, const Tensor& labels) {
  At here(t, "loss");
  const Tensor targets = shifted_labels(t, labels);
  const Tensor rows = view(t, hidden, {-1, hidden.size(-1)});
  return {fused_linear_cross_entropy(t, rows, head.weight, view(t, targets, {-1})), {}};
}

ModelOutput classification(Tape& t, const LossChoice& choice, const Tensor& hidden, const Head& head,
                           const Tensor& labels) {
  Tensor logits = [&] {
    At here(t, "score");
    return linear(t, hidden, head.weight, {});
  }();
  At here(t, "loss");
  LastTokens last = last_of_each(t, logits);
  ModelOutput out{label_loss(t, choice.form, last.logits, labels), last.logits};
  logits.reset(), last.mask.reset(), last.positions.reset();  // as they go there
  return out;
}

}  // namespace

Tensor label_loss(Tape& t, LossForm form, const Tensor& logits, const Tensor& labels) {
  if (form == LossForm::multi_label) return binary_cross_entropy_with_logits(t, logits, labels);
  if (form == LossForm::regression) return mse_loss(t, view(t, logits, labels.shape()), labels);
  return cross_entropy(t, view(t, logits, {-1, logits.size(-1)}), view(t, labels, {-1}));
}

ModelOutput loss_head(Tape& t, const LossChoice& choice, Tensor hidden, const Head& head, const Tensor& labels) {
  switch (choice.form) {
    case LossForm::causal: return causal(t, choice, hidden, head, labels);
    case LossForm::shifted: return shifted(t, choice, hidden, head, labels);
    case LossForm::plain: return plain(t, choice, hidden, head, labels);
    case LossForm::smoothed: return smoothed(t, choice, hidden, head, labels);
    case LossForm::chunked: return chunked(t, choice, hidden, head, labels);
    case LossForm::fused_linear: return fused_linear(t, choice, hidden, head, labels);
    case LossForm::classification:
    case LossForm::multi_label:
    case LossForm::regression: return classification(t, choice, hidden, head, labels);
    case LossForm::masked:                       // of encoders only: masked_lm
    case LossForm::sequence_to_sequence: break;  // of two stacks only: bart
  }
  return {};
}

LossForm own_loss(const ModelConfig& c) {
  if (c.labels > 0) return LossForm::classification;
  if (c.two_stacks()) return LossForm::sequence_to_sequence;
  return c.encoder() ? LossForm::masked : LossForm::causal;
}

}  // namespace vramplan
