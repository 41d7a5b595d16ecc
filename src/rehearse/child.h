// A foreign command, run as it would be without us: its standard streams are ours, what the terminal sends and what is
// sent to us reaches it, and its exit status comes back. It ends with us, and what it started ends with it when it is
// told to.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace vramplan {

/// Waits for its end; 128 + n when signal n ended it. `environment` is added to ours. Throws UserError with exit status
/// 127 (there is no such command) or 126 (it cannot be run).
int run_child(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);

}  // namespace vramplan
