// What of a card's peaks programs reach, and what a process costs before its first tensor: stated defaults, or figures
// measured on the card.
#pragma once
#include <optional>
#include <string>

#include "vramplan/base/bytes.h"

namespace vramplan {

/// Shares of the peaks of the catalogue, and the cost of starting a kernel.
struct Efficiency {
  double matrix = 0.7;     ///< large products: 0.6 to 0.87 (ml-engineering's MAMF tables, A100 and H100)
  double attention = 0.5;  ///< fused: 0.4 to 0.73 (Dao 2023, FlashAttention-2, table of A100)
  double memory = 0.8;     ///< streaming kernels: 0.75 to 0.9 of the bandwidth
  double launch_us = 5;    ///< PyTorch eager, 3 to 6 a kernel
};

struct Calibration {
  Efficiency efficiency;
  std::optional<Bytes> context;  ///< CUDA context, modules and loaded kernels
  std::string origin;            ///< the file it was read from; empty: the defaults
};

}  // namespace vramplan
