// The reports that processes under the virtual GPU leave in a folder: PID.device.json of the library, PID.torch.json of
// the Python hook.
#pragma once
#include "rehearse/rehearsal.h"

namespace vramplan {

/// By rank, then process. Devices that were never used are left out. A damaged report becomes a warning.
std::vector<RehearsedProcess> collect_reports(const std::string& folder, Bytes context,
                                              std::vector<std::string>& warnings);

}  // namespace vramplan
