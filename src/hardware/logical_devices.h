// Cards that show up as several devices: a process trains on one of them, with its share of all there is.
#pragma once
#include <string>

#include "vramplan/hardware/card.h"

namespace vramplan {

/// One of the `devices` of a card whose figures are those of the whole; as it is when there is one. `kind`: "GCD, 64 GB
/// each". The note says what was done.
Card one_device(Card whole, int devices, const std::string& kind);

}  // namespace vramplan
