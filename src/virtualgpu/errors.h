// The last error of a thread, as the runtime keeps it, and the words for it.
#pragma once

namespace virtualgpu {

/// Keeps what is not a success, and hands it on.
int checked(int result);
int last_error();
int take_last_error();

const char* describe(int result);
const char* name_of(int result);

}  // namespace virtualgpu
