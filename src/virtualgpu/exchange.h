// Small messages between the ranks of one program, each a process on this machine: what one sends is appended to a file
// of its channel in the report's folder, and read there by the others, in the order in which it was sent.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace virtualgpu {

using Bytes = std::vector<char>;

/// Whether there are other processes to talk to: a folder to share, and not one rank that stands for all.
bool can_exchange();
/// Letters that no other group of ranks on this machine has.
std::string new_name();

void post(const std::string& channel, const Bytes& message);
/// Message `index` (from 0) of a channel, waited for as long as NCCL would; nothing when it does not come.
std::optional<Bytes> message(const std::string& channel, size_t index);

}  // namespace virtualgpu
