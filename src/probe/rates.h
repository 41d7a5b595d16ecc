// How fast a card is with the kernels of a backend: figures in the place of an estimate's stated shares of its peaks.
#pragma once
#include "backend/cuda.h"

namespace vramplan {

struct CardRates {
  DType type = DType::bf16;  ///< of the product
  double matrix = 0;         ///< operations a second, additions counted, in a large product
  double memory = 0;         ///< bytes a second, read and written, in a large copy
};

/// Takes memory for a moment: at most a quarter of `free`. A product and a copy are made larger until they last.
CardRates measure_rates(CudaBackend& backend, DType type, Bytes free);

}  // namespace vramplan
