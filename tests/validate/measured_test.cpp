// Published measurements of one GPU: what is expressed, how far off it is, and what is left out and why.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "random.h"
#include "validate/measured.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

const std::vector<ValidatedGroup>& groups() {
  static const std::vector<ValidatedGroup> all = validate_file(TEST_ROOT "/data/measured.jsonl");
  return all;
}

const ValidatedGroup& group(const std::string& name) {
  return *std::find_if(groups().begin(), groups().end(), [&](const ValidatedGroup& g) { return g.name == name; });
}

}  // namespace

TEST_CASE("the script whose model we have is met within a third of a percent") {
  const ValidatedGroup& g = group("measured/single-gpu/cs336");
  CHECK(g.expressed == 3);
  CHECK(g.worst < 0.004);
}

TEST_CASE("runs that fit and runs that do not are told apart") {
  const ValidatedGroup& g = group("measured/fits");
  CHECK(g.expressed >= 19);
  CHECK(g.exact >= 17);
}

TEST_CASE("no row is dropped: each is expressed or says why not") {
  std::size_t rows = 0;
  for (const ValidatedGroup& g : groups()) {
    if (std::count(g.name.begin(), g.name.end(), '/') != 1) continue;
    rows += g.cases;
    for (const ValidatedCase& c : g.rows) CHECK((!c.not_expressed.empty() || c.expected > Bytes()));
  }
  CHECK(rows == 222);
  std::size_t reasons = 0, expressed = 0;
  for (const auto& [why, n] : reasons_not_expressed(groups())) reasons += n;
  for (const ValidatedGroup& g : groups())
    if (std::count(g.name.begin(), g.name.end(), '/') == 1) expressed += g.expressed;
  CHECK(reasons + expressed == 222);
  CHECK(expressed >= 55);
}

TEST_CASE("damaged measurements are read or refused, never crash") {
  std::ifstream file(TEST_ROOT "/data/measured.jsonl");
  std::string line;
  for (int i = 0; i < 60; ++i) std::getline(file, line);
  test::Random random(5);
  for (int i = 0; i < 1000; ++i) {
    std::string text = line;
    for (unsigned n = 1 + random() % 3; n > 0 && !text.empty(); --n) {
      const std::size_t at = random() % text.size();
      if (random() % 2)
        text[at] = static_cast<char>(random());
      else
        text.erase(at, 1 + random() % 20);
    }
    try {
      read_measurement(text, "t");
    } catch (const UserError&) {
    } catch (const Overflow&) {
    }
  }
}
