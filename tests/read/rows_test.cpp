// Tables of jobs as people and spreadsheets write them, and as nobody should.
#include "read/rows.h"

#include <doctest/doctest.h>

#include <sstream>

#include "random.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

std::vector<InputRow> rows_of(const std::string& text) {
  std::istringstream in(text);
  const auto reader = open_rows(in, "test");
  std::vector<InputRow> out;
  for (InputRow row; reader->next(row);) out.push_back(row);
  return out;
}

}  // namespace

TEST_CASE("CSV: quotes, line ends, a byte order mark, empty lines, names with underscores") {
  const auto rows = rows_of("\xEF\xBB\xBFmodel,micro_batch,--seq\r\n\"a,\"\"b\"\"\",2,3\r\n\r\n\"two\nlines\",,4");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].cells == Cells{{"model", "a,\"b\""}, {"micro-batch", "2"}, {"seq", "3"}});
  CHECK(rows[1].cells == Cells{{"model", "two\nlines"}, {"seq", "4"}});
}

TEST_CASE("CSV: semicolons and decimal commas") {
  const auto rows = rows_of("model;dropout;lora\ngpt2;0,1;r=4,targets=q_proj\n");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].cells == Cells{{"model", "gpt2"}, {"dropout", "0.1"}, {"lora", "r=4,targets=q_proj"}});
}

TEST_CASE("CSV: rows that cannot be read say why, the others go on") {
  const auto rows = rows_of("a,b\n1\n1,2,3\n1,2\n\"open,2\n");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].error == "1 cells under 2 columns");
  CHECK(rows[1].error == "3 cells under 2 columns");
  CHECK(rows[2].error.empty());
  CHECK(rows[3].error == "a quote is not closed");
  for (const char* bad : {"", " \n", "a,a\n1,2\n", "a,,b\n"}) CHECK_THROWS_AS(rows_of(bad), UserError);
}

TEST_CASE("JSON: an array and lines read alike; values of every kind") {
  const std::string one = R"({"model": "a}\"{", "seq": 5, "dropout": 0.25, "tied": true, "gpu": null})";
  for (const std::string& text : {"[" + one + ", " + one + "]", one + "\n" + one + "\n", one + one}) {
    const auto rows = rows_of(text);
    REQUIRE(rows.size() == 2);
    for (const InputRow& r : rows)
      CHECK(r.cells == Cells{{"model", "a}\"{"}, {"seq", "5"}, {"dropout", "0.25"}, {"tied", "true"}});
  }
}

TEST_CASE("JSON: what is no flat object is an error of its row") {
  const auto rows = rows_of(R"([{"a": [1]}, 5, {"a": 1,}, {"a": 2}, {"a": )");
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].error == "'a' is not a single value");
  CHECK(rows[1].error == "not an object of flags");
  CHECK(rows[2].error == "not valid JSON");
  CHECK(rows[3].cells == Cells{{"a", "2"}});
  CHECK(rows[4].error == "the file ends within an object");
}

TEST_CASE("damaged tables never crash") {
  test::Random random(3);
  for (const std::string& good : {std::string("model;seq;dropout\n\"gpt2\";5;0,1\r\ngpt2;6;\n"),
                                  std::string(R"([{"model": "gpt2", "seq": 5}, {"model": "x", "b": [1, {"c": 2}]}])")})
    for (int i = 0; i < 3000; ++i) {
      std::string text = good;
      for (std::uint32_t k = random() % 5; k > 0; --k) text[random() % text.size()] = static_cast<char>(random() % 256);
      text.resize(random() % (text.size() + 1));
      try {
        rows_of(text);
      } catch (const UserError&) {
      }
    }
}
