// The card that is pretended, and what the libraries beside it say they are: read from the environment, where the
// launcher and the Python hook put it.
#pragma once
#include <cstddef>
#include <string>

namespace virtualgpu {

struct Settings {
  std::string name = "NVIDIA A100-SXM4-80GB";        ///< VGPU_NAME
  size_t memory = 84974239744;                       ///< VGPU_MEMORY: bytes a process is offered, of each card
  size_t context = 0;                                ///< VGPU_CONTEXT: bytes of them that the CUDA context takes
  int major = 8, minor = 0;                          ///< VGPU_CAPABILITY "8.0"
  int multiprocessors = 108;                         ///< VGPU_MULTIPROCESSORS
  int l2 = 41943040;                                 ///< VGPU_L2: bytes of cache
  int bus_bits = 5120;                               ///< VGPU_BUS_BITS: of the memory bus
  int clock = 1410000, memory_clock = 1593000;       ///< VGPU_CLOCK, VGPU_MEMORY_CLOCK: kHz
  int cards = 1;                                     ///< VGPU_CARDS
  int visible = 1;                                   ///< of those, what CUDA_VISIBLE_DEVICES shows
  int cuda = 13000;                                  ///< VGPU_CUDA: 12040 is 12.4
  int cudnn = 90100, cublas = 130000, nccl = 22700;  ///< VGPU_CUDNN, VGPU_CUBLAS, VGPU_NCCL
  std::string report;                                ///< VGPU_REPORT: folder for a report of each process; empty: none
};

/// Read once, at the first call of any CUDA function.
const Settings& settings();

/// Of an environment variable; the fallback where it is not set.
long long number_of(const char* name, long long fallback);

}  // namespace virtualgpu
