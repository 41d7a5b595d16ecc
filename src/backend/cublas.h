// cuBLAS, opened by name, for products in the place of our own kernel: faster, and deterministic as it is used here
// (one stream, a workspace of its own, no TF32).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "backend/kernels/view.h"
#include "backend/shared_library.h"

namespace vramplan {

/// Settings of the environment that would change how fp32 is multiplied: taken away for this process, and named.
std::vector<std::string> neutralise_fp32_overrides();

class Cublas {
 public:
  /// In the current context. Throws UserError with status 3 when it is not here.
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// False, and nothing is done, for types and layouts that it does not take. Throws UserError when it fails.
  bool multiply(const kernels::Product& p, std::byte* workspace, std::size_t bytes) const;

 private:
  SharedLibrary library_;
  void* handle_ = nullptr;
};

}  // namespace vramplan
