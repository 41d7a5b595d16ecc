// What the makers of cards call things, so that an estimate for a card without CUDA speaks its own language.
#pragma once
#include <string>
#include <string_view>

#include "vramplan/hardware/card.h"

namespace vramplan {

struct VendorWords {
  std::string_view vendor;     ///< as the catalogue writes it
  std::string_view runtime;    ///< whose context a process takes
  std::string_view products;   ///< the library of matrix products
  std::string_view monitor;    ///< the tool that shows the device's memory
  std::string_view allocated;  ///< PyTorch's counter of what tensors take
  std::string_view reserved;   ///< PyTorch's counter of what its allocator holds
};

/// NVIDIA's for a card without a maker, and where no card was named.
const VendorWords& vendor_words(std::string_view vendor);

/// "[cuda context]" and "[cublas workspace]" in the words of the maker; every other row's name as it is.
std::string row_name(const std::string& name, const VendorWords& words);

}  // namespace vramplan
