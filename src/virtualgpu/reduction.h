// What a reduction makes of the ranks' numbers.
#pragma once
#include <cstddef>

#include "virtualgpu/exchange.h"

namespace virtualgpu {

/// n bytes of each rank's numbers (ncclDataType_t) under an operation (ncclRedOp_t: sum, product, largest, smallest,
/// mean). Nothing where a rank's are not known, the type is a float of 16 bits or less, or the operation is of the
/// program's own.
Bytes reduced(const std::vector<Bytes>& all, size_t n, int type, int op);

}  // namespace virtualgpu
