#include "vramplan/tensor/dtype.h"

#include <array>

namespace vramplan {
namespace {
constexpr std::array<DTypeFacts, 11> kFacts{{
    {DType::fp32, "fp32", 32, true},
    {DType::tf32, "tf32", 32, true},
    {DType::fp16, "fp16", 16, true},
    {DType::bf16, "bf16", 16, true},
    {DType::fp8_e4m3, "fp8-e4m3", 8, true},
    {DType::fp8_e5m2, "fp8-e5m2", 8, true},
    {DType::int8, "int8", 8, false},
    {DType::int4, "int4", 4, false},
    {DType::nf4, "nf4", 4, false},
    {DType::int64, "int64", 64, false},
    {DType::boolean, "bool", 8, false},
}};
}  // namespace

const DTypeFacts& facts(DType t) { return kFacts[static_cast<std::size_t>(t)]; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeFacts& f : kFacts)
    if (f.name == name) return f.type;
  return std::nullopt;
}

Bytes storage_bytes(DType t, std::int64_t elements) {
  const int bits = facts(t).bits;
  if (bits >= 8) return Bytes(static_cast<std::uint64_t>(elements)) * static_cast<std::uint64_t>(bits / 8);
  const auto per_byte = static_cast<std::uint64_t>(8 / bits);
  return Bytes((static_cast<std::uint64_t>(elements) + per_byte - 1) / per_byte);
}

std::int64_t item_size(DType t) {
  if (facts(t).bits < 8) throw std::logic_error("a packed type has no element size");
  return facts(t).bits / 8;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (!facts(a).floating) return facts(b).floating || facts(b).bits > facts(a).bits ? b : a;
  if (!facts(b).floating) return a;
  return DType::fp32;  // fp16 with bf16 as well
}

}  // namespace vramplan
