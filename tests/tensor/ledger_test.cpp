#include "tensor/ledger.h"

#include <doctest/doctest.h>

#include "backend/dry.h"
#include "tensor/memory.h"

using namespace vramplan;

TEST_CASE("sums, peaks and the living are read from the events") {
  DryBackend backend;
  Ledger ledger;
  Memory memory(backend, ledger);
  Tensor a = memory.empty({100}, DType::fp32, "a");  // 400 B, one block
  Tensor b = memory.empty({3}, DType::int64, "b");
  memory.reclassify(b, Category::gradient);
  const auto both = ledger.now();
  Tensor view = a;
  a.reset();
  CHECK(ledger.now() == both);  // the view keeps it
  view.reset();
  Tensor c = memory.empty({513}, DType::int8, "c");
  CHECK(ledger.live(both).requested == Bytes(424));
  CHECK(ledger.live(both).rounded == Bytes(1024));
  const auto peak = ledger.peak(both, ledger.now());
  CHECK(peak.tally.requested == Bytes(537));
  CHECK(peak.tally.rounded == Bytes(512 + 1024));
  CHECK(peak.at == ledger.now());
  const auto alive = ledger.alive(ledger.now());
  REQUIRE(alive.size() == 2);
  CHECK(alive[0].category == Category::gradient);
  CHECK(std::string_view(ledger.record(alive[1].record).op) == "c");
}

TEST_CASE("a tensor of no bytes allocates nothing") {
  DryBackend backend;
  Ledger ledger;
  Memory memory(backend, ledger);
  { const Tensor t = memory.empty({0, 7}, DType::fp32, "none"); }
  CHECK(ledger.events().empty());
}

TEST_CASE("storage of packed and plain types") {
  CHECK(storage_bytes(DType::nf4, 5) == Bytes(3));
  CHECK(storage_bytes(DType::tf32, 4) == Bytes(16));
  CHECK(storage_bytes(DType::fp8_e4m3, 4) == Bytes(4));
  CHECK(storage_bytes(DType::boolean, 4) == Bytes(4));
  CHECK_THROWS_AS(storage_bytes(DType::int64, INT64_MAX), Overflow);
  CHECK(promote(DType::bf16, DType::fp16) == DType::fp32);
  CHECK(promote(DType::int64, DType::bf16) == DType::bf16);
  CHECK(dtype_named("fp8-e5m2") == DType::fp8_e5m2);
  CHECK_FALSE(dtype_named("fp7"));
}
