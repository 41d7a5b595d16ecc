// The elementwise operations. Free of any other header, as kernels are also compiled as text.
#pragma once

namespace vramplan {

enum class Unary {
  copy,
  neg,
  scale,
  add,
  pow,
  exponential,
  sqrt,
  rsqrt,
  tanh,
  sin,
  cos,
  silu,
  gelu,
  gelu_tanh,
  relu,
  mask_to_bias,
  logical_not,
  sigmoid,
  log_sigmoid
};  // exponential: a^x
enum class Binary {
  add,
  sub,
  mul,
  div,
  less_equal,
  greater,
  logical_and,
  tanh_backward,
  silu_backward,
  gelu_backward,
  gelu_tanh_backward,
  relu_backward
};

}  // namespace vramplan
