// Optimizer kernels of the host: states in blocks of 8 bits move weights as states in fp32 do.
#include <doctest/doctest.h>

#include <cmath>

#include "backend/host.h"
#include "tensor/memory.h"

using namespace vramplan;

TEST_CASE("8-bit states follow fp32 ones") {
  HostBackend host;
  Ledger ledger;
  Memory memory(host, ledger);
  constexpr std::int64_t n = 600;  // two whole blocks and a part
  auto make = [&](DType t, std::int64_t size) {
    Tensor x = memory.empty({size}, t, "x");
    if (t == DType::fp32)
      host.fill(x, 0);
    else
      std::fill_n(x.data<std::int8_t>(), size, std::int8_t{0});
    return x;
  };
  for (bool lion : {false, true}) {
    Tensor exact = make(DType::fp32, n), coded = make(DType::fp32, n), g = make(DType::fp32, n);
    Tensor m = make(DType::fp32, n), v = make(DType::fp32, n);
    Tensor mc = make(DType::int8, n), vc = make(DType::int8, n), ms = make(DType::fp32, 3), vs = make(DType::fp32, 3);
    for (int step = 1; step <= 5; ++step) {
      const AdamArgs args{1e-2, 0.9, 0.999, 1e-8, 0.1, step, true, true};
      for (std::int64_t i = 0; i < n; ++i)
        g.data<float>()[i] = std::sin(static_cast<float>(i * step)) + 0.3F * std::cos(static_cast<float>(i));
      if (lion) {
        host.lion(exact, g, m, args);
        host.lion_blockwise(coded, g, {mc, ms}, args);
      } else {
        host.adam(exact, g, m, v, args);
        host.adam_blockwise(coded, g, {mc, ms}, {vc, vs}, args);
      }
    }
    double difference = 0, size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      difference += std::abs(static_cast<double>(exact.data<float>()[i] - coded.data<float>()[i]));
      size += std::abs(static_cast<double>(exact.data<float>()[i]));
    }
    CAPTURE(lion);
    CHECK(size > 0);
    CHECK(difference < 0.1 * size);
  }
}
