// Fat binaries as NVIDIA's compiler would register them, with nothing in them but their headers.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace vramplan::test {

struct FatEntry {
  int architecture;
  bool ptx = false;
  std::uint64_t flags = 0x8011;  ///< as in PyTorch 2.15; bit 20: of one card only (sm_90a)
};

/// What __cudaRegisterFatBinary gets. Lives as long as its kernels are asked for.
class FatBinary {
 public:
  explicit FatBinary(const std::vector<FatEntry>& entries) {
    constexpr std::size_t kHeader = 16, kEntryHeader = 64, kCode = 24;
    bytes_.resize(kHeader + entries.size() * (kEntryHeader + kCode));
    put<std::uint32_t>(0, 0xba55ed50);
    put<std::uint16_t>(4, 1);
    put<std::uint16_t>(6, kHeader);
    put<std::uint64_t>(8, bytes_.size() - kHeader);
    std::size_t at = kHeader;
    for (const FatEntry& e : entries) {
      put<std::uint16_t>(at, e.ptx ? 1 : 2);
      put<std::uint32_t>(at + 4, kEntryHeader);
      put<std::uint64_t>(at + 8, kCode);
      put<std::int32_t>(at + 28, e.architecture);
      put<std::uint64_t>(at + 40, e.flags);
      at += kEntryHeader + kCode;
    }
    const char* const data = bytes_.data();
    const std::uint32_t magic = 0x466243b1, version = 1;
    std::memcpy(wrapper_, &magic, 4);
    std::memcpy(wrapper_ + 4, &version, 4);
    std::memcpy(wrapper_ + 8, &data, 8);
  }
  FatBinary(const FatBinary&) = delete;
  FatBinary& operator=(const FatBinary&) = delete;
  void* wrapper() { return wrapper_; }

 private:
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<char> bytes_;
  char wrapper_[24] = {};
};

}  // namespace vramplan::test
