// The cuda backend beside the host's, on a driver whose kernels run on the CPU.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda.h"
#include "backend/host.h"
#include "backend/host_number.h"
#include "tensor/memory.h"

namespace vramplan::test {

/// The driver opens what the environment names.
struct StandIn {
  StandIn() {
    setenv("PROBE_STAND_IN_CUDA", STAND_IN_CUDA, 1);
    setenv("PROBE_STAND_IN_NVRTC", STAND_IN_CUDA, 1);
    setenv("PROBE_STAND_IN_CUBLAS", STAND_IN_CUDA, 1);
  }
};

struct Card : StandIn {
  explicit Card(const char* capability = "90") {
    setenv("STAND_IN_CAPABILITY", capability, 1);
    driver.enter(0);
  }
  CudaDriver driver;
};

/// The elements of a tensor of either backend, as floats in row-major order.
inline std::vector<float> numbers_of(const Tensor& t, const CudaDriver* driver) {
  if (!driver) return host::packed(t);
  std::vector<std::byte> bytes(t->storage->bytes.count());
  driver->download(bytes.data(), reinterpret_cast<std::uint64_t>(t->storage->data), bytes.size());
  std::vector<float> out;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    std::int64_t place = t->offset, rest = i;
    for (int d = t.rank() - 1; d >= 0; --d) {
      place += rest % t.size(d) * t.strides().at(d);
      rest /= t.size(d);
    }
    out.push_back(host::load(bytes.data(), t.dtype(), place));
  }
  return out;
}

/// Norm of the difference over the norm of what is wanted; the difference alone where that is nothing.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  double difference = 0, size = 0;
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - static_cast<double>(wanted[i]), 2);
    size += std::pow(static_cast<double>(wanted[i]), 2);
  }
  REQUIRE(std::isfinite(difference));
  return std::sqrt(difference / (size > 1e-12 ? size : 1));
}

/// Probe's tolerance between card and host.
inline double tolerance(DType t) { return t == DType::fp32 ? 1e-4 : 2e-2; }

class Both : public Card {
 public:
  using Card::Card;
  struct Twins {
    Tensor host, cuda;
    /// The same part of both.
    Twins seen(const Dims& shape, const Dims& strides, std::int64_t offset = 0) const {
      auto part = [&](const Tensor& t) {
        return Tensor(make_ref<TensorImpl>(t->storage, shape, strides, offset, t.dtype()));
      };
      return {part(host), part(cuda)};
    }
    Twins transposed() const {
      Dims shape = host.shape(), strides = host.strides();
      std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
      std::swap(strides[shape.size() - 1], strides[shape.size() - 2]);
      return seen(shape, strides, host->offset);
    }
  };

  /// Normally distributed, the same in both; of int64, below `below`.
  Twins random(const Dims& shape, DType type = DType::fp32, std::int64_t below = 0) {
    Twins t{host_memory.empty(shape, type, "host"), cuda_memory.empty(shape, type, "cuda")};
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < t.host.numel(); ++i) {
      if (below)
        t.host.data<std::int64_t>()[i] = static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(below));
      else
        host::store(t.host->storage->data, type, i, type == DType::boolean ? float(engine_() % 2) : normal(engine_));
    }
    driver.upload(reinterpret_cast<std::uint64_t>(t.cuda->storage->data), t.host->storage->data,
                  t.host->storage->bytes.count());
    return t;
  }
  void compare(const Twins& t, double most = 0) {
    cuda.synchronise();
    const double error = relative_error(numbers_of(t.cuda, &driver), numbers_of(t.host, nullptr));
    CHECK(error <= (most > 0 ? most : tolerance(t.host.dtype())));
  }

  CudaBackend cuda{driver, {}};
  HostBackend host;
  Ledger host_ledger, cuda_ledger;
  Memory host_memory{host, host_ledger}, cuda_memory{cuda, cuda_ledger};

 private:
  std::mt19937 engine_{7};
};

}  // namespace vramplan::test
