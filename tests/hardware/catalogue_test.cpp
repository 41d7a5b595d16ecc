#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "read/data.h"
#include "vramplan/base/error.h"
#include "vramplan/hardware/card.h"

using namespace vramplan;

namespace {
const std::string& text() {
  static const std::string t = Data().gpus();
  return t;
}
}  // namespace

TEST_CASE("names people type find the card") {
  for (const auto& [name, id] : {std::pair{"a100-80gb", "a100-sxm4-80gb"},
                                 {"RTX 3090", "geforce-rtx-3090"},
                                 {"4090", "geforce-rtx-4090"},
                                 {"rtx-4090", "geforce-rtx-4090"},
                                 {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"},
                                 {"h100-sxm", "h100-sxm5-80gb"},
                                 {"NVIDIA GeForce RTX 3090", "geforce-rtx-3090"},
                                 {"h200", "h200-sxm-141gb"}}) {
    CAPTURE(name);
    CHECK(find_card(text(), name).id == id);
  }
  CHECK(find_card(text(), "a100-80gb").compute_capability == 80);
  CHECK(find_card(text(), "a100-80gb").nominal == Bytes(80 * kGiB));
}

TEST_CASE("a short name for cards of several sizes lists them, a typo suggests") {
  try {
    find_card(text(), "a100");
    FAIL("a100 was taken");
  } catch (const UserError& e) {
    CHECK(e.hint.find("a100-sxm4-80gb") != std::string::npos);
    CHECK(e.hint.find("a100-sxm4-40gb") != std::string::npos);
    CHECK(e.status == Exit::usage);
  }
  // No H100 has less than 80 GB, but for one made for a single machine: the name is enough, and what was taken is said.
  CHECK(find_card(text(), "h100").id == "h100-sxm5-80gb");
  CHECK(find_card(text(), "h100").note.find("h100-nvl-94gb") != std::string::npos);
  for (const char* two_sizes : {"v100", "rtx 3060", "p100"}) CHECK_THROWS_AS(find_card(text(), two_sizes), UserError);
  try {
    find_card(text(), "rxt-4090");
    FAIL("rxt-4090 was taken");
  } catch (const UserError& e) {
    CHECK(e.hint.find("did you mean 'rtx-4090'?") != std::string::npos);
  }
}

TEST_CASE("every card can be found by its id, and offers no more than it has") {
  const auto cards = all_cards(text());
  CHECK(cards.size() > 300);
  for (std::size_t i = 0; i < cards.size(); i += 7) {
    const Card& c = cards[i];
    CAPTURE(c.id);
    CHECK(find_card(text(), c.id).id == c.id);
    CHECK(c.usable > Bytes());
    CHECK(c.usable <= c.nominal);
    CHECK_FALSE(c.usable_basis.empty());
  }
}

TEST_CASE("a damaged catalogue is an error") {
  CHECK_THROWS_AS(find_card("{", "x"), UserError);
  CHECK_THROWS_AS(all_cards("nonsense"), UserError);
}

TEST_CASE("totals that PyTorch printed for users are met within half a percent") {
  // GiB from out-of-memory messages and logs; the issue each was found in stands in the catalogue's sources.
  struct Printed {
    const char* card;
    double gib;
  };
  for (const Printed& p :
       {Printed{"rtx 4050 laptop", 5.77}, Printed{"rtx 2070", 7.78}, Printed{"v100-sxm2-16gb", 15.77},
        Printed{"a10g", 21.99}, Printed{"l4", 22.05}, Printed{"rtx 4090", 23.55}, Printed{"rtx 3090", 23.65},
        Printed{"rtx a5000", 23.68}, Printed{"v100-sxm2-32gb", 31.75}, Printed{"a100-40gb", 39.56},
        Printed{"l40s", 44.53}, Printed{"a100-80gb", 79.15}, Printed{"h200", 139.72}}) {
    CAPTURE(p.card);
    const Card c = find_card(text(), p.card);
    CHECK(static_cast<double>(c.usable.count()) / static_cast<double>(kGiB) == doctest::Approx(p.gib).epsilon(0.005));
  }
  // These two print more under older drivers, which the catalogue lists as variants.
  auto has_variant = [](const char* id, double gib) {
    for (const CardFact& f : card_facts(text(), id))
      if (f.unit == "MiB" && std::abs(std::stod(f.value) / 1024 - gib) < 0.005 * gib) return true;
    return false;
  };
  CHECK(has_variant("tesla-t4", 14.75));
  CHECK(has_variant("a10", 22.20));
}

TEST_CASE("no card's driver shows more than it has, no process gets more than the driver shows") {
  std::set<std::string> ids;
  for (const Card& c : all_cards(text())) {
    CAPTURE(c.id);
    CHECK(ids.insert(c.id).second);
    if (c.driver_total == Bytes()) continue;
    CHECK(c.driver_total <= c.nominal);
    CHECK(c.usable <= c.driver_total);
    CHECK_FALSE(c.driver_basis.empty());
  }
}

TEST_CASE("every field of a card has a source") {
  for (const char* id : {"h100-sxm5-80gb", "geforce-rtx-4090", "instinct-mi300x"}) {
    const auto facts = card_facts(text(), id);
    CHECK(facts.size() > 20);
    for (const CardFact& f : facts) {
      CAPTURE(f.field);
      CHECK_FALSE(f.value.empty());
      CHECK_FALSE(f.source.empty());
    }
  }
  CHECK(card_facts(text(), "no-such-card").empty());
}

TEST_CASE("MIG slices are those of NVIDIA's guide") {
  const Card a100 = find_card(text(), "a100-40gb");
  for (const auto& [profile, gib, units] : {std::tuple{"1g.5gb", 4.75, 15},
                                            {"2g.10gb", 9.75, 30},
                                            {"3g.20gb", 19.62, 46},
                                            {"4g.20gb", 19.62, 61},
                                            {"7g.40gb", 39.5, 108}}) {
    CAPTURE(profile);
    const Card slice = mig_slice(a100, profile);
    CHECK(slice.usable <= Bytes(static_cast<std::uint64_t>(gib * static_cast<double>(kGiB))));
    CHECK(slice.usable >= Bytes(static_cast<std::uint64_t>(0.95 * gib * static_cast<double>(kGiB))));
    CHECK(slice.multiprocessors == units);
  }
  CHECK(mig_slice(find_card(text(), "h200"), "1g.18gb").nominal < Bytes(18 * kGiB));
  CHECK(mig_slice(find_card(text(), "a30"), "2g.12gb").nominal == Bytes(12 * kGiB));
  CHECK_THROWS_AS(mig_slice(a100, "3g.40gb"), UserError);
  CHECK_THROWS_AS(mig_slice(find_card(text(), "rtx 3090"), "1g.3gb"), UserError);
}

TEST_CASE("cards of one's own") {
  const auto cards = own_cards(R"([{"id": "mine", "memory_bytes": 17179869184, "bandwidth_gbs": 900}])", "mine.json");
  REQUIRE(cards.size() == 1);
  CHECK(cards[0].name == "mine");
  CHECK(cards[0].usable == Bytes(16 * kGiB));
  for (const char* bad :
       {"", "{", "3", "{}", "[1]", "[{}]", R"([{"id": "x"}])", R"([{"id": "x", "memory_bytes": "24"}])",
        R"([{"id": "x", "memory_bytes": 0}])", R"([{"id": "x", "memory_bytes": 1, "usable_mib": 9}])",
        R"([{"id": "x", "memory_bytes": -5}])"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(own_cards(bad, "bad.json"), UserError);
  }
}
