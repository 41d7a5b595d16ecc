// A file of cards is read field by field, and a card of several devices is one of them.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "hardware/vendor.h"
#include "read/data.h"
#include "vramplan/base/error.h"
#include "vramplan/hardware/card.h"

using namespace vramplan;

namespace {

std::string refusal(const std::string& fields) {
  try {
    own_cards(fmt::format(R"([{{"id": "x", "memory_bytes": 17179869184, {}}}])", fields), "x.json");
    return "(taken)";
  } catch (const UserError& e) {
    CHECK(e.where.find("x.json") == 0);
    CHECK_FALSE(e.hint.empty());
    return e.what();
  }
}

}  // namespace

TEST_CASE("every field is read, or refused by its name") {
  const Card c = own_cards(R"([{"id": "x", "memory_bytes": 17179869184, "usable": 16000000000, "bandwidth_gbs": 320.5,
      "tflops": {"fp32": 8, "fp16": 65, "bf16": 0, "int8": 130}, "compute_capability": "7.5", "multiprocessors": 40,
      "driver_total": 16500000000, "driver_total_basis": "observed", "l2": 4194304, "memory_bus_bits": 256,
      "boost_mhz": 1590}])",
                           "x.json")
                     .at(0);
  CHECK(c.usable == Bytes(16000000000));
  CHECK(c.bandwidth_gbs == 320.5);
  CHECK(c.tflops.fp16 == 65);
  CHECK(c.tflops.int8 == 130);
  CHECK(c.compute_capability == 75);
  CHECK(c.multiprocessors == 40);
  CHECK(c.driver_total == Bytes(16500000000));
  CHECK(c.l2 == Bytes(4 * kMiB));
  CHECK(c.bus_bits == 256);
  CHECK(c.clock_mhz == 1590);
  CHECK(refusal(R"("bandwith_gbs": 900)").find("'bandwith_gbs' is not known") != std::string::npos);
  CHECK(refusal(R"("usable": "12")").find("'usable'") != std::string::npos);
  CHECK(refusal(R"("usable": 12.5)").find("'usable'") != std::string::npos);
  CHECK(refusal(R"("usable_mib": -5)").find("'usable_mib'") != std::string::npos);
  CHECK(refusal(R"("compute_capability": "x.y")").find("'compute_capability'") != std::string::npos);
  CHECK(refusal(R"("usable": 1048576, "usable_mib": 2)").find("the other field") != std::string::npos);
}

TEST_CASE("the catalogue's own rows are cards of a user's own, the same in everything") {
  const std::string text = Data().gpus();
  const auto theirs = all_cards(text), ours = own_cards(text, "gpus.json");
  REQUIRE(theirs.size() == ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(ours[i].id);
    CHECK(ours[i].id == theirs[i].id);
    CHECK(ours[i].usable == theirs[i].usable);
    CHECK(ours[i].nominal == theirs[i].nominal);
    CHECK(ours[i].bandwidth_gbs == theirs[i].bandwidth_gbs);
    CHECK(ours[i].tflops.bf16 == theirs[i].tflops.bf16);
  }
}

TEST_CASE("an MI250 is two devices of 64 GiB (AMD CDNA 2 white paper): one is planned") {
  const std::string text = Data().gpus();
  const Card c = find_card(text, "mi250");
  CHECK(c.nominal == Bytes(64 * kGiB));
  CHECK(c.usable <= c.nominal);
  CHECK(c.bandwidth_gbs == doctest::Approx(1638.4));
  CHECK(c.tflops.bf16 == doctest::Approx(181.05));
  CHECK(c.note.find("2 devices") != std::string::npos);
  CHECK(find_card(text, "mi250x").nominal == Bytes(64 * kGiB));
  CHECK(find_card(text, "gpu-max-1550").nominal == Bytes(64 * kGiB));
  CHECK(find_card(text, "a16").nominal == Bytes(16 * kGiB));  // the row is of one of its four already
  CHECK(find_card(text, "mi300x").nominal == Bytes(192 * kGiB));
}

TEST_CASE("a name that is sold in several sizes is asked back") {
  const std::string text = Data().gpus();
  for (const char* name : {"apple m4 max", "m4-max", "m3-max", "m1", "rtx 3060", "mi50", "gh200"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(find_card(text, name), UserError);
  }
  CHECK(find_card(text, "m4-max-64gb").nominal == Bytes(64 * kGiB));
}

TEST_CASE("makers' words") {
  CHECK(row_name("[cuda context]", vendor_words("NVIDIA")) == "[cuda context]");
  CHECK(row_name("[cuda context]", vendor_words("")) == "[cuda context]");
  for (const Card& c : all_cards(Data().gpus())) {
    CAPTURE(c.vendor);
    CHECK(has_cuda(c) == (c.vendor == "NVIDIA"));
    const VendorWords& w = vendor_words(c.vendor);
    CHECK(w.vendor == c.vendor);
    if (has_cuda(c)) continue;
    for (const std::string_view word : {w.runtime, w.products, w.monitor, w.allocated, w.reserved})
      for (const char* nvidias : {"CUDA", "cuBLAS", "nvidia", "cuda"})
        CHECK(word.find(nvidias) == std::string_view::npos);
  }
}
