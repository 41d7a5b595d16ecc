// A row that is damaged is one row: those behind it are read.
#include <doctest/doctest.h>

#include <sstream>

#include "read/rows.h"
#include "read/text_file.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

std::vector<InputRow> all_rows(const std::string& text) {
  std::istringstream in(text);
  const auto reader = open_rows(in, "test");
  std::vector<InputRow> out;
  for (InputRow row; reader->next(row);) out.push_back(row);
  return out;
}

const std::vector<std::string> kGood{R"({"seq": 1})", R"({"seq": 2, "name": "a}{\""})"};

}  // namespace

TEST_CASE("JSON lines: whatever is wrong with one of three, the two others are read as they are alone") {
  for (const std::string bad :
       {R"({"seq": 5)", R"({"seq": "5)", R"({"seq)", "{", "{{{{", R"({"a": {"b": 1})", R"({"seq": 5}})", "]", "5", "x",
        R"({"seq": 5,})", R"({"seq": 5, "seq": 6})", R"({"micro-batch": 5, "micro_batch": 6})", "\"{\""})
    for (std::size_t at = 0; at < 3; ++at) {
      CAPTURE(bad);
      CAPTURE(at);
      std::vector<std::string> lines = kGood;
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), bad);
      std::string text = "{\"seq\": 0}\n";
      for (const std::string& line : lines) text += line + "\n";
      std::vector<std::string> seen;
      for (const InputRow& r : all_rows(text))
        if (r.error.empty() && !r.cells.empty() && r.cells[0].second != "5") seen.push_back(r.cells[0].second);
      CHECK(seen == std::vector<std::string>{"0", "1", "2"});
    }
}

TEST_CASE("a byte order mark changes nothing, before JSON and before CSV") {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& text :
       {kGood[0] + "\n" + kGood[1], "[" + kGood[0] + "," + kGood[1] + "]", std::string("seq,name\n1,\n2,x\n")}) {
    const auto plain = all_rows(text), marked = all_rows(mark + text);
    REQUIRE(plain.size() == 2);
    REQUIRE(marked.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) CHECK(plain[i].cells == marked[i].cells);
  }
}

TEST_CASE("CSV: a quote that nothing closes is its row's error, the lines that it swallowed are rows") {
  const auto rows = all_rows("seq,name\n1,a\n2,\"b\n3,c\n4,d\n");
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows[i].error == (i == 1 ? "a quote is not closed" : ""));
    if (i != 1) CHECK(rows[i].cells[0].second == std::to_string(i + 1));
  }
}

TEST_CASE("a row beyond the limit, or with a zero byte, ends the table with its reason") {
  for (const std::string& head :
       {std::string("seq,name\n1,a\n2,"), std::string("{\"seq\": 1}\n{\"name\": \""), std::string("{\"seq\": 1}\n")}) {
    CAPTURE(head);
    for (const std::string& rest : {std::string(2 * kLargestRow, 'x'), std::string("x\0y", 3)}) {
      const auto rows = all_rows(head + rest);
      REQUIRE(rows.size() == 2);
      CHECK(rows[0].error.empty());
      CHECK(rows[1].error.find("nothing from here on is read") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(all_rows(std::string(2 * kLargestRow, 'x')), UserError);
  CHECK_THROWS_AS(all_rows(std::string(10, '\0')), UserError);
}
