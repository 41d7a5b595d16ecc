// Kernels of the cuda backend on the CPU, by name.
#pragma once

namespace emulated {

/// Null when there is none of this name.
const void* find_kernel(const char* name);
/// Runs the whole grid. False for a number of threads that no kernel is written for.
bool launch(const void* kernel, unsigned x, unsigned y, unsigned z, unsigned threads, void** parameters);

}  // namespace emulated
