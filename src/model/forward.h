// The forward pass of a model, from token ids to the loss, written as transformers 5.24 writes it (models/gpt2,
// models/llama, models/mistral, models/qwen2). Which layers are recomputed is not decided here: the caller runs the
// stack of layers.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "model/loss_heads.h"
#include "model/weights.h"
#include "tape/attention.h"
#include "vramplan/model/parts.h"

namespace vramplan {

/// DynamicCache, with layers that grow by concatenation.
struct KeyValueCache {
  std::vector<Tensor> states;  ///< keys and values [b, k, s, d] of each layer, by turns
  std::size_t next = 0;        ///< the state that is updated next: layers run in order
};

struct AttentionChoice {
  bool eager = false;
  SdpaKernel kernel = SdpaKernel::automatic;
  RecomputedParts recomputed;
  std::shared_ptr<KeyValueCache> cache;  ///< null when there is none
  bool uses_cache = false;               ///< asked for: else one that was given is not returned, but by Llama
  EagerArgs kept;                        ///< of eager attention: scale and dropout are the layer's
};

/// The repeated layers of one forward pass, ready to be run in order.
struct LayerStack {
  std::int64_t count = 0;
  /// Layer i on the hidden state. Its arguments, `arguments(i)` and `states`, are given by the caller.
  std::function<Tensor(std::int64_t i, const Tensor& x, const Arguments& given)> run;
  std::function<Arguments(std::int64_t i)> arguments = [](std::int64_t) { return Arguments(); };
  Tensor states;  ///< of a decoder behind an encoder: the encoder's last hidden state
  /// GPT-2's and BART's layers take the mask as a positional argument, so checkpointing one keeps it as an argument.
  bool mask_is_argument = false;
};
/// Takes the only reference to x, so that it goes when the layers are done with it.
using RunStack = std::function<Tensor(Tape&, const LayerStack&, Tensor x)>;

struct Batch {
  Tensor ids, labels;                 ///< int64 [b, s]
  Tensor hidden;                      ///< [b, s, h]: what the textbook stack is fed with instead
  bool embeddings_want_grad = false;  ///< enable_input_require_grads: checkpointing a frozen model needs it
};

ModelOutput forward(Tape& t, const ModelConfig& c, const Weights& w, const Batch& batch,
                    const AttentionChoice& attention, const RunStack& run, const LossChoice& loss);

/// One layer, hidden state in and out.
Tensor gpt2_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Tensor& mask,
                  const AttentionChoice& choice);
Tensor llama_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const Arguments& given,
                   const AttentionChoice& choice);
Tensor textbook_layer(Tape& t, const ModelConfig& c, const LayerWeights& w, const Tensor& x, const EagerArgs& kept);

/// The attention of a layer from its queries on, recomputed as a whole where `choice` says so.
using Attend = std::function<EagerAttention(const Tensor& q, const Tensor& k, const Tensor& v)>;
EagerAttention run_attention(Tape& t, const AttentionChoice& choice, const Attend& attend, const Tensor& q,
                             const Tensor& k, const Tensor& v);
/// Keys and values as the cache returns them: copies behind what it holds, when there is a cache.
void update_cache(Tape& t, const AttentionChoice& choice, Tensor& k, Tensor& v);
/// A part of a layer as a function of x, recomputed in backward or not.
Tensor run_part(Tape& t, bool recomputed, const Segment& part, const Tensor& x);

/// The parts that layers share.
Tensor apply_norm(Tape& t, const ModelConfig& c, const NormWeights& w, const Tensor& x);
Tensor apply_activation(Tape& t, MlpKind kind, const Tensor& x);

}  // namespace vramplan
