// Sheets: each card's row is that card's estimate and plan; workbooks are written whole, or not at all with a reason.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::run;
using vramplan::test::slurp;

namespace {

const std::string kSheetJob = " --model gpt2 --seq 256 --micro-batch 2 ";

class Book {
 public:
  std::string path() const { return path_; }
  ~Book() { std::remove(path_.c_str()); }
  /// A zip file with an end, that names the parts of a workbook.
  bool whole() const {
    const std::string bytes = slurp(path_);
    return bytes.starts_with("PK") && has(bytes, "xl/worksheets/sheet6.xml") && has(bytes, "PK\x05\x06");
  }

 private:
  std::string path_ = "/tmp/vramplan-book-" + std::to_string(getpid()) + ".xlsx";
};

}  // namespace

TEST_CASE("a row a card: the estimate as asked, and the largest micro-batch of plan") {
  const json sheet = json::parse(run("sheet" + kSheetJob + "--gpus t4,rtx-4090 --json").out);
  REQUIRE(sheet.at("rows").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& row = sheet.at("rows")[i];
    const std::string gpu = i == 0 ? "--gpu t4 " : "--gpu rtx-4090 ";
    CHECK(row.at("asked") == json::parse(run("estimate" + kSheetJob + gpu + "--flat").out));
    const json plan = json::parse(run("plan" + kSheetJob + gpu + "--max micro-batch --json").out);
    CHECK(row.at("largest").at("micro_batch") == plan.at("answer").at("micro_batch"));
  }
}

TEST_CASE("estimate, sheet and batch write workbooks") {
  const Book book;
  if (has(run("estimate" + kSheetJob + "--xlsx " + book.path()).err, "libxlsxwriter-dev")) {
    MESSAGE("SKIPPED: built without libxlsxwriter");
    return;
  }
  CHECK(book.whole());
  CHECK(run("sheet" + kSheetJob + "--gpus t4 --xlsx " + book.path()).status == 0);
  CHECK(book.whole());
  CHECK(run("batch - --xlsx " + book.path(), "model,seq\ngpt2,64\nnonsense,64\n=1+1,64\n").status == 3);
  CHECK(book.whole());
  CHECK(has(run("estimate" + kSheetJob + "--xlsx /nonexistent/a.xlsx").err, "cannot be written"));
}

TEST_CASE("wrong sheets") {
  CHECK(run("sheet" + kSheetJob).status == 2);
  CHECK(has(run("sheet" + kSheetJob + "--gpus t44").err, "t44"));
}
