#include <doctest/doctest.h>

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
  try {
    find_card(text(), "rtx-4900");
    FAIL("rtx-4900 was taken");
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
