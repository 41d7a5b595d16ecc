// Parameters as they are made, one after the other, plain or quantised.
#pragma once
#include <string>
#include <vector>

#include "model/weights.h"
#include "tape/tape.h"

namespace vramplan {

/// Collects parameters as they are made. In counting mode nothing is made, only elements are summed.
class WeightBuilder {
 public:
  /// `made` parameters were made before: values differ from tensor to tensor.
  WeightBuilder(Tape* tape, DType dtype, std::size_t made = 0) : tape_(tape), dtype_(dtype), made_(made) {}

  Tensor make(const std::string& name, const Dims& shape, bool ones = false);

  LinearWeights linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias);
  LinearWeights conv1d(const std::string& name, std::int64_t in, std::int64_t out);
  NormWeights norm(const std::string& name, const ModelConfig& c) { return norm(name, c, c.hidden); }
  NormWeights norm(const std::string& name, const ModelConfig& c, std::int64_t width);

  Parameter take_last();
  Tape* tape() const { return tape_; }  ///< null in counting mode

  const WeightStorage* storage = nullptr;
  std::int64_t elements = 0;
  std::vector<Parameter> parameters;
  Tensor scale_map;  ///< bitsandbytes' own copy of the scales' code book, made with the first weight that needs it

 private:
  /// Params4bit or Int8Params with what belongs to them, made from the weight as it was loaded, in the order of
  /// bitsandbytes' functional.quantize_4bit and nn.Int8Params.
  QuantisedWeight stored(const std::string& name, std::int64_t in, std::int64_t out);
  void store_in_four_bits(QuantisedWeight& w, std::int64_t n);
  Tensor filled(const Dims& shape, DType dtype, double value);
  Tensor temporary(const Dims& shape, DType dtype);
  /// Small numbers that differ from element to element and from tensor to tensor.
  void scatter(const Tensor& p);

  Tape* tape_;
  DType dtype_;
  std::size_t made_;
};

}  // namespace vramplan
