// What a virtual card remembers of its data: nothing, but for small messages between ranks. Distributed programs check
// one another with a few bytes: upload, collective, download. In a program of several ranks small uploads are noted, a
// collective hands their bytes to the other ranks, and a download soon after reads them. Whatever else is read from a
// card is zero.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace virtualgpu {

constexpr size_t kLargestNote = size_t{1} << 20;  ///< bytes

/// From this call on uploads are noted; a process with WORLD_SIZE above 1 starts so.
void start_notes();
/// A kernel ran: notes grow old.
void kernel_launched();

/// Any of host and device, to any. Zeros come from the device unless a collective noted something there.
void copy(void* to, const void* from, size_t n);
void fill(void* at, int value, size_t n);

/// What is noted of the n bytes at `from`, from their first on; nothing when that is not known.
std::vector<char> noted(const void* from, size_t n);
/// A collective will have put n bytes at `to`: `bytes` is asked for them when somebody looks, and gives nothing when
/// they are not known.
void promise(void* to, size_t n, std::function<std::vector<char>()> bytes);

/// Kernels launched, and copies from a card to the host that were answered with zeros.
size_t launches();
size_t reads_of_zeros();
/// Called at each such copy that the main thread makes; null: nobody is.
void on_zero_read(void (*f)(size_t bytes));

}  // namespace virtualgpu
