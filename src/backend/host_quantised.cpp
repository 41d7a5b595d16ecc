// Weights in few bits on the host: evenly spaced codes, not bitsandbytes' books, in as many bytes.
#include "backend/host.h"
#include "backend/host_number.h"

namespace vramplan {

using host::Look;
using host::look;

namespace {

std::uint8_t byte_of(const Tensor& codes, std::int64_t i) {
  return static_cast<std::uint8_t>(std::to_integer<unsigned>(codes->storage->data[i]));
}

float scale_of(const StoredWeight& w, std::int64_t block) {
  if (!w.second_scales) return look(w.scales)[block];
  const auto code = static_cast<float>(byte_of(w.scales, block)) / 255;
  return code * look(w.second_scales)[block / 256] + look(w.offset)[0];
}

float eight_bits(const Tensor& codes, std::int64_t i) {
  return static_cast<float>(static_cast<std::int8_t>(byte_of(codes, i))) / 127;
}

}  // namespace

void HostBackend::dequantise(const Tensor& y, const StoredWeight& w) {
  const Look out = look(y);
  const bool four_bits = w.codes.numel() < y.numel();
  const std::int64_t columns = y.size(1);
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) {
    if (four_bits) {
      const unsigned code = (byte_of(w.codes, i / 2) >> (i % 2 ? 0 : 4)) & 15U;
      out.set(i, (static_cast<float>(code) / 7.5F - 1) * scale_of(w, i / 64));
    } else {
      out.set(i, eight_bits(w.codes, i) * scale_of(w, i / columns));
    }
  }
}

void HostBackend::matmul_8bit(const Tensor& y, const Tensor& x, const StoredWeight& w, const Tensor& bias) {
  const Look out = look(y), in = look(x);
  const std::int64_t rows = y.size(0), width = y.size(1), depth = x.size(1);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < width; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += in[i * depth + k] * eight_bits(w.codes, j * depth + k);
      out.set(i * width + j, sum * scale_of(w, j) + (bias ? look(bias)[j] : 0));
    }
}

}  // namespace vramplan
