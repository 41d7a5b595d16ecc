// How a model is trained, as plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramplan/model/loss.h"
#include "vramplan/model/parts.h"
#include "vramplan/model/prompt.h"
#include "vramplan/tensor/device.h"
#include "vramplan/tensor/dtype.h"

namespace vramplan {

/// What is stored in which type.
///   fp32, bf16, fp16   everything in that type
///   amp_*              fp32 weights under torch.autocast
///   mixed_*            16-bit weights and gradients, fp32 master weights and Adam states: 2 + 2 + 12 bytes a parameter
enum class Precision { fp32, bf16, fp16, amp_bf16, amp_fp16, mixed_bf16, mixed_fp16 };

/// muon: matrices of the layers by Muon, everything else by AdamW in the form asked for.
enum class OptimizerKind { adamw, adam, sgd, adafactor, lion, muon };
enum class OptimizerForm { foreach, for_loop, fused };
/// Of AdamW, Adam and Lion. fp32 and blockwise are bitsandbytes': one kernel a parameter, no temporaries.
///   as_parameter   torch.optim: the parameter's type
///   fp32           whatever the parameter's type
///   blockwise      8 bits a number and an fp32 scale for 256 of them; parameters below 4096 numbers stay in fp32
enum class StateStorage { as_parameter, fp32, blockwise };
struct Optimizer {
  OptimizerKind kind = OptimizerKind::adamw;
  OptimizerForm form = OptimizerForm::foreach;
  double lr = 1e-4, momentum = 0, weight_decay = 0.01;
  StateStorage states = StateStorage::as_parameter;
  bool paged = false;            ///< bitsandbytes: states of 100,000 numbers and more in memory of the host
  bool fp32_embeddings = false;  ///< blockwise states, but those of embeddings in fp32, as Hugging Face's Trainer asks
  bool amsgrad = false;          ///< a third state, the largest second moment so far
  bool in_backward = false;      ///< each parameter is updated and its gradient freed as soon as that is there
  bool on_host = false;          ///< states and the step are the host's: gradients go there, weights come back
  bool operator==(const Optimizer&) const = default;
};

/// Which layers are recomputed.
///   per_layer   every layer alone, as Hugging Face does
///   segments    n runs of layers, each checkpointed; the first (layers mod n) get the extra layer
///   sequential  torch.utils.checkpoint.checkpoint_sequential: n - 1 runs of layers / n, the rest plain
///   every       layers 0, n, 2n ... alone, the others plain (torchtitan's selective option by number)
///   first       the first n layers alone, the others plain (Megatron's "block")
///   selective   parts of every layer (Megatron's recompute_modules)
///   cuts        runs of any lengths, some of them plain
enum class CheckpointKind { none, per_layer, segments, sequential, every, first, selective, cuts };
struct Checkpointing {
  CheckpointKind kind = CheckpointKind::none;
  std::int64_t n = 0;
  bool reentrant = false;
  RecomputedParts parts{};  ///< of selective
  bool on_host = false;     ///< boundaries wait in the host's memory (reentrant)
  /// of cuts: n > 0 are n layers in one checkpointed run, n < 0 are -n plain ones
  std::vector<std::int64_t> runs{};
  bool operator==(const Checkpointing&) const = default;
};

/// Adapters of peft on a frozen model: A [r, in] and B [out, r] beside a linear layer.
struct Lora {
  std::int64_t rank = 8;
  std::vector<std::string> targets{"q_proj", "v_proj"};  ///< module names; "all-linear" is all but the last
  double dropout = 0;
  bool full_precision = true;  ///< adapters in fp32 whatever the model's type (peft's default)
  /// modules_to_save: "embed_tokens", "lm_head"; trained whole, beside the frozen ones
  std::vector<std::string> saved{};
  double alpha = 0;              ///< lora_alpha; 0: twice the rank. Scales numbers, takes no byte
  bool rank_stabilised = false;  ///< rsLoRA: alpha over the root of the rank, instead of over the rank
  bool dora = false;             ///< a trained magnitude beside A and B, and the weight's row norms in each pass
  double scale() const;
  /// Whether one of the targets is the module's path or the end of it, part by part.
  bool names_module(const std::string& path) const;
  /// The same of a linear module: "all-linear" targets it too.
  bool targets_module(const std::string& path) const;
  bool operator==(const Lora&) const = default;
};

/// Linear layers of a frozen model stored in few bits by bitsandbytes; all but the head, as transformers does.
///   nf4, fp4   4 bits a weight, an fp32 scale for 64 of them; multiplied as 16-bit copies made for each product
///   int8       8 bits a weight, an fp32 scale a row (LLM.int8()); the input of each product is kept
enum class QuantKind { nf4, fp4, int8 };
struct Quantisation {
  QuantKind kind = QuantKind::nf4;
  bool doubled = false;  ///< bnb_4bit_use_double_quant: the scales in 8 bits, and an fp32 scale for 256 of them
  bool upcast = false;   ///< prepare_model_for_kbit_training: everything that is not quantised in fp32
  bool operator==(const Quantisation&) const = default;
};

/// How Transformer Engine scales 8-bit floats: by what was seen in the steps before, or by what is there.
enum class Fp8Recipe { delayed, current };

enum class AttentionForm { sdpa, eager, flash, efficient, math };

struct TrainOptions {
  std::int64_t micro_batch = 1, seq = 0;
  std::int64_t target_seq = 0;  ///< tokens the decoder of a sequence-to-sequence model writes; 0: as many as it reads
  std::int64_t accumulate = 1;  ///< micro-batches per step
  Precision precision = Precision::bf16;
  Optimizer optimizer;
  Checkpointing checkpoint;
  AttentionForm attention = AttentionForm::sdpa;
  std::int64_t score_copies = 0;  ///< eager attention keeps this many more copies of its probabilities
  DType dropout_mask =
      DType::boolean;        ///< of the mask on attention probabilities; kernels before PyTorch's kept wider ones
  Device device;             ///< decides the SDPA kernel and what kernels take for themselves
  std::optional<Lora> lora;  ///< train adapters only
  /// The embeddings and this many layers behind them are not trained; nothing: all are.
  std::optional<std::int64_t> frozen_layers;
  bool input_grads = true;             ///< enable_input_require_grads where layers are recomputed, as transformers does
  std::optional<PromptTuning> prompt;  ///< train a prompt only
  std::optional<Fp8Recipe> fp8;        ///< the layers' linear modules are Transformer Engine's, in 8-bit floats
  std::optional<Quantisation> quant;   ///< of the frozen model under the adapters
  LossChoice loss;
  std::optional<double> clip;   ///< largest norm of the gradients
  bool clip_for_loop = false;   ///< clip_grad_norm_(foreach=False)
  bool grad_scaler = false;     ///< under autocast: torch.amp.GradScaler around backward and step
  bool fp32_gradients = false;  ///< with master weights: gradients are added up in fp32 (Megatron's main gradients)
  bool zero_in_place = false;   ///< zero_grad(set_to_none=False): gradients stay and are set to zero
  bool use_cache = false;       ///< the model fills a key/value cache while it is trained
  bool evaluate = false;        ///< a forward pass in eval mode, without gradients, after each step
  bool ddp = false;             ///< DistributedDataParallel: one replica of several, gradients also in buckets
  bool bucket_views = false;    ///< gradient_as_bucket_view: gradients only there
  bool ema = false;             ///< an averaged copy of the model (torch.optim.swa_utils.AveragedModel)
  bool keeps_output = false;    ///< the caller holds the model's output, and so the logits, until the next one
  bool operator==(const TrainOptions&) const = default;
};

/// Tokens of a sequence of labels.
std::int64_t target_length(const TrainOptions& o);
/// Whether the model is frozen and something beside it is trained.
bool freezes_model(const TrainOptions& o);
/// The type parameters are stored in.
DType parameter_type(Precision p);
/// The type a quantised model is loaded in and multiplies in: autocast's 16 bits rather than fp32.
DType loaded_type(const TrainOptions& o);
/// The type of parameters that are not quantised.
DType unquantised_type(const TrainOptions& o);
/// The type of the autocast region, if there is one.
std::optional<DType> autocast_type(Precision p);
bool has_master_weights(Precision p);
/// The form that an optimizer takes when nobody says which: PyTorch's foreach, but with fp32 master weights the fused
/// one, as Apex, DeepSpeed and Megatron, which keep these, update them without a copy.
OptimizerForm usual_form(const Optimizer& optimizer, Precision precision);

}  // namespace vramplan
