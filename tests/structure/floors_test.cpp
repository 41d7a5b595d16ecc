// A room may use the rooms below it, never one above. This test reads the #includes.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace fs = std::filesystem;

namespace {

const std::map<std::string, int>& floors() {
  static const std::map<std::string, int> f{
      {"base", 0},   {"tensor", 1},   {"tape", 2},     {"backend", 2},  {"allocator", 2},  {"model", 3},
      {"train", 4},  {"hardware", 4}, {"estimate", 5}, {"plan", 6},     {"probe", 6},      {"read", 6},
      {"render", 6}, {"validate", 6}, {"cli", 7},      {"rehearse", 6}, {"virtualgpu", -1}};
  return f;
}

/// The folder a project include names: "tape/tape.h" or "vramplan/tensor/dtype.h".
std::string folder_of(std::string path) {
  if (path.starts_with("vramplan/")) path.erase(0, 9);
  return path.substr(0, path.find('/'));
}

int check_tree(const fs::path& root) {
  int includes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string own = folder_of(fs::relative(entry.path(), root).string());
    CAPTURE(entry.path().string());
    REQUIRE(floors().count(own));
    std::ifstream file(entry.path());
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
      if (!line.starts_with("#include \"")) continue;
      const std::string target = folder_of(line.substr(10, line.rfind('"') - 10));
      CAPTURE(line);
      REQUIRE(floors().count(target));
      CHECK(floors().at(target) <= floors().at(own));
      ++includes;
    }
    CHECK(lines <= 400);
  }
  return includes;
}

}  // namespace

TEST_CASE("the floors are respected and no file is long") {
  CHECK(check_tree(TEST_ROOT "/../src") > 100);
  CHECK(check_tree(TEST_ROOT "/../include/vramplan") > 5);
}

TEST_CASE("main is short") {
  std::ifstream file(TEST_ROOT "/../src/cli/main.cpp");
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  CHECK(lines < 60);
}
