// The card as its properties tell: numbers by cudaDeviceAttr, which CUdevice_attribute shares, and cudaDeviceProp.
#pragma once
#include <cstddef>

namespace virtualgpu {

/// 0 for what is not known. Numbers: driver_types.h, cudaDeviceAttr.
int attribute(int which);

/// Blocks of so many threads that are resident on a multiprocessor at once, as far as threads limit them.
int blocks_a_multiprocessor(int threads);

/// The layouts of cudaDeviceProp: 1,032 bytes in CUDA 12, 1,008 in CUDA 13.
enum class Properties { cuda12, cuda13 };
int fill_properties(void* out, int card, Properties layout);

}  // namespace virtualgpu
