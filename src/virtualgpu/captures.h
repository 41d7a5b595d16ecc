// Streams that are being captured into a graph: remembered, so that PyTorch's allocator keeps private pools; nothing is
// recorded.
#pragma once
#include "virtualgpu/abi.h"

namespace virtualgpu {

void begin_capture(Handle stream);
void end_capture(Handle stream);
/// Status (0 none, 1 active) and id, where they are asked for.
int capture_status(Handle stream, int* status, unsigned long long* id);

}  // namespace virtualgpu
