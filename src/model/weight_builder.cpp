#include "model/weight_builder.h"

#include <utility>

#include "vramplan/base/bytes.h"

namespace vramplan {

Tensor WeightBuilder::make(const std::string& name, const Dims& shape, bool ones) {
  elements = checked_add(elements, count(shape));
  if (!tape_) return {};
  Memory& m = tape_->memory();
  Restore category(m.category, Category::parameter);
  Tensor p = m.empty(shape, dtype_, "parameter");
  p->requires_grad = true;
  m.backend().fill(p, ones ? 1 : 0);
  if (!ones) scatter(p);
  parameters.push_back({name, p});
  return p;
}

LinearWeights WeightBuilder::linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias) {
  LinearWeights w;
  if (storage) {  // a checkpoint is loaded by name: the bias first
    if (bias) w.bias = make(name + ".bias", {out});
    w.stored = stored(name + ".weight", in, out);
    if (bias && tape_) std::swap(parameters[parameters.size() - 2], parameters.back());
    return w;
  }
  w.weight = make(name + ".weight", {out, in});
  if (bias) w.bias = make(name + ".bias", {out});
  return w;
}

LinearWeights WeightBuilder::conv1d(const std::string& name, std::int64_t in, std::int64_t out) {
  LinearWeights w;
  w.input_first = true;
  w.weight = make(name + ".weight", {in, out});
  w.bias = make(name + ".bias", {out});
  return w;
}

NormWeights WeightBuilder::norm(const std::string& name, const ModelConfig& c, std::int64_t width) {
  NormWeights w;
  w.weight = make(name + ".weight", {width}, c.norm != NormKind::rms_norm_gemma);
  if (c.norm == NormKind::layer_norm) w.bias = make(name + ".bias", {width});
  return w;
}

Parameter WeightBuilder::take_last() {
  Parameter last = std::move(parameters.back());
  parameters.pop_back();
  return last;
}

QuantisedWeight WeightBuilder::stored(const std::string& name, std::int64_t in, std::int64_t out) {
  elements = checked_add(elements, checked_multiply(in, out));
  QuantisedWeight w;
  w.in = in, w.out = out, w.four_bits = storage->four_bits;
  w.dtype = storage->dtype, w.multiplied = storage->multiplied;
  if (!tape_) return w;
  const Tensor loaded = temporary({out, in}, storage->dtype);
  if (w.four_bits) {
    store_in_four_bits(w, checked_multiply(in, out));
  } else {
    const Tensor contiguous = temporary({out, in}, storage->dtype);
    w.scales = filled({out}, DType::fp32, 0.05);
    w.codes = filled({out, in}, DType::int8, 0);
  }
  tape_->backend().arange(w.codes, 0);
  parameters.push_back({name, w.codes});
  return w;
}

void WeightBuilder::store_in_four_bits(QuantisedWeight& w, std::int64_t n) {
  constexpr std::int64_t kScaled = 64, kBlockOfScales = 256, kMap = 16, kMapOfScales = 256;
  const std::int64_t blocks = (n + kScaled - 1) / kScaled;
  Tensor scales = filled({blocks}, DType::fp32, 0.05);
  w.codes = filled({(n + 1) / 2, 1}, DType::int8, 0);
  w.map = filled({kMap}, DType::fp32, 0);
  {
    Tensor map_to_compare = temporary({kMap}, DType::fp32);
    const Tensor whether = temporary({}, DType::fp32);
    map_to_compare.reset();
  }
  if (!storage->doubled) {
    w.scales = std::move(scales);
    return;
  }
  w.offset = filled({}, DType::fp32, 0.02);
  const Tensor less_offset = temporary({blocks}, DType::fp32);
  if (!scale_map) scale_map = filled({kMapOfScales}, DType::fp32, 0);
  w.second_scales = filled({(blocks + kBlockOfScales - 1) / kBlockOfScales}, DType::fp32, 0.05);
  w.scales = filled({blocks}, DType::int8, 100);
  w.second_map = filled({kMapOfScales}, DType::fp32, 0);
}

Tensor WeightBuilder::filled(const Dims& shape, DType dtype, double value) {
  Tensor t = tape_->memory().empty(shape, dtype, "parameter");
  tape_->backend().fill(t, value);
  return t;
}
Tensor WeightBuilder::temporary(const Dims& shape, DType dtype) {
  Restore category(tape_->memory().category, Category::temporary);
  return tape_->memory().empty(shape, dtype, "quantise");
}

void WeightBuilder::scatter(const Tensor& p) {
  const double n = static_cast<double>(made_ + parameters.size());
  Backend& b = tape_->backend();
  b.arange(p, n * 0.37);
  b.unary(Unary::scale, p, p, 12.9898);
  b.unary(Unary::sin, p, p, 0);
  b.unary(Unary::scale, p, p, 0.05);
}

}  // namespace vramplan
