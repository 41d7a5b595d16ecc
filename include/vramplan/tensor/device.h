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
  /// Bytes of shared memory that a block may ask for (the same table).
  int shared_memory() const {
    constexpr int kib = 1024;
    switch (compute_capability) {
      case 60:
      case 61:
      case 62: return 48 * kib;
      case 70:
      case 72: return 96 * kib;
      case 75: return 64 * kib;
      case 80:
      case 87: return 163 * kib;
      case 86:
      case 89:
      case 120:
      case 121: return 99 * kib;
      default: return 227 * kib;
    }
  }
  bool operator==(const Device&) const = default;
};

}  // namespace vramplan
