#include "vramplan/train/options.h"

#include <algorithm>
#include <cmath>

namespace vramplan {

DType parameter_type(Precision p) {
  switch (p) {
    case Precision::bf16:
    case Precision::mixed_bf16: return DType::bf16;
    case Precision::fp16:
    case Precision::mixed_fp16: return DType::fp16;
    default: return DType::fp32;
  }
}

DType loaded_type(const TrainOptions& o) {
  return o.quant ? autocast_type(o.precision).value_or(parameter_type(o.precision)) : parameter_type(o.precision);
}

std::int64_t target_length(const TrainOptions& o) { return o.target_seq > 0 ? o.target_seq : o.seq; }

bool freezes_model(const TrainOptions& o) { return o.lora || o.prompt; }

DType unquantised_type(const TrainOptions& o) { return o.quant && o.quant->upcast ? DType::fp32 : loaded_type(o); }

std::optional<DType> autocast_type(Precision p) {
  if (p == Precision::amp_bf16) return DType::bf16;
  if (p == Precision::amp_fp16) return DType::fp16;
  return std::nullopt;
}

double Lora::scale() const {
  const auto r = static_cast<double>(rank);
  return (alpha > 0 ? alpha : 2 * r) / (rank_stabilised ? std::sqrt(r) : r);
}

bool Lora::names_module(const std::string& path) const {
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& t) {
    return t == path || (path.size() > t.size() && path.ends_with("." + t));
  });
}

bool Lora::targets_module(const std::string& path) const {
  return names_module(path) || std::find(targets.begin(), targets.end(), "all-linear") != targets.end();
}

bool has_master_weights(Precision p) { return p == Precision::mixed_bf16 || p == Precision::mixed_fp16; }

OptimizerForm usual_form(const Optimizer& o, Precision precision) {
  const bool torch = o.kind == OptimizerKind::adam || o.kind == OptimizerKind::adamw || o.kind == OptimizerKind::sgd;
  const bool fused = has_master_weights(precision) && torch && o.states == StateStorage::as_parameter && !o.on_host;
  return fused ? OptimizerForm::fused : OptimizerForm::foreach;
}

}  // namespace vramplan
