// Element types and their storage. Bits, not bytes, because int4 and nf4 pack two elements into a byte.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

enum class DType : std::uint8_t { fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, int4, nf4, int64, boolean };

struct DTypeFacts {
  DType type;
  std::string_view name;
  int bits;  ///< of storage: tf32 is a way to multiply, stored as fp32
  bool floating;
};

const DTypeFacts& facts(DType t);
inline std::string_view name_of(DType t) { return facts(t).name; }
std::optional<DType> dtype_named(std::string_view name);

/// Storage of `elements` elements, rounded up to whole bytes. Throws Overflow.
Bytes storage_bytes(DType t, std::int64_t elements);
/// Bytes of one element; throws std::logic_error for packed types, which have no address of their own.
std::int64_t item_size(DType t);
/// What an operation over both types computes in and returns, as torch.promote_types for floating types.
DType promote(DType a, DType b);

}  // namespace vramplan
