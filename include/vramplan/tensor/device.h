// What kernels ask of the card they run on, where it decides how much memory they take.
#pragma once

namespace vramplan {

struct Device {
  int compute_capability = 80;  ///< 80 for sm_80
  int multiprocessors = 108;    ///< 108: A100
  int mask_alignment = 8;       ///< elements that rows of efficient attention's masks are filled up to

  /// Resident threads of one multiprocessor (CUDA C++ Programming Guide, technical specifications).
  int threads_per_multiprocessor() const {
    switch (compute_capability) {
      case 75: return 1024;
      case 86:
      case 87:
      case 89:
      case 110:
      case 120:
      case 121: return 1536;
      default: return 2048;
    }
  }
  bool operator==(const Device&) const = default;
};

}  // namespace vramplan
