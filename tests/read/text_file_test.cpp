// Files without an end, and documents without a bottom.
#include "read/text_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "read/json_object.h"
#include "vramplan/base/error.h"

using namespace vramplan;

TEST_CASE("devices, folders, zero bytes and files beyond the limit are refused") {
  CHECK_THROWS_AS(read_file("/dev/zero"), UserError);
  CHECK_THROWS_AS(read_lines("/dev/zero"), UserError);
  CHECK_THROWS_AS(read_file("/tmp"), UserError);
  CHECK_THROWS_AS(check_readable("/tmp"), UserError);
  CHECK_THROWS_AS(check_readable("/no/such"), UserError);
  char name[] = "/tmp/vramplan-text-XXXXXX";
  const int file = mkstemp(name);
  REQUIRE(file >= 0);
  close(file);
  std::ofstream(name) << std::string(100, 'x');
  CHECK(read_file(name).size() == 100);
  CHECK(read_file(name, 100).size() == 100);
  CHECK_THROWS_AS(read_file(name, 99), UserError);
  std::ofstream(name) << "a\n\n \nb";
  CHECK(read_lines(name) == std::vector<std::string>{"a", "b"});
  std::remove(name);
}

TEST_CASE("JSON is as deep as the limit and no deeper; braces within texts do not count") {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(parse_json(nested(kDeepest), "test").is_array());
  CHECK_THROWS_AS(parse_json(nested(kDeepest + 1), "test"), UserError);
  CHECK_THROWS_AS(check_nesting(std::string(100000, '{'), "test"), UserError);
  check_nesting("{\"a\": \"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"}", "test");
  std::string flat = "[";
  for (int i = 0; i < 1000; ++i) flat += "{},";
  check_nesting(flat + "1]", "test");
}
