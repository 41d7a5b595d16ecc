// From a card's peaks to seconds.
#pragma once
#include "tensor/speed.h"
#include "vramplan/hardware/calibration.h"
#include "vramplan/hardware/card.h"

namespace vramplan {

/// All zeros when the catalogue has no rates or no bandwidth for the card. fp32 products run outside the matrix units,
/// as PyTorch has it unless TF32 is allowed; types that the card has no units for are computed in fp32.
Speed speed_of(const Card& card, const Efficiency& efficiency);

/// The card whose kernels and times are taken when none is named: an A100 SXM4 80GB.
Card reference_card();

}  // namespace vramplan
