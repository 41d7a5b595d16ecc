// Files are whole or not there, and what surrounds them stays as it was.
#include "base/whole_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "vramplan/base/error.h"

using namespace vramplan;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/vramplan-whole-XXXXXX";
    REQUIRE(mkdtemp(name));
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::string at(const char* name) const { return (path / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  fs::path path;
};

std::string content(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

}  // namespace

TEST_CASE("a file is replaced with its permissions, and nothing is left beside it") {
  const Folder folder;
  const std::string file = folder.at("f");
  write_whole(file, "old");
  struct stat s {};
  REQUIRE(stat(file.c_str(), &s) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((s.st_mode & 0777) == (0666 & ~mask));
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  write_whole(file, "new");
  REQUIRE(stat(file.c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0640);
  CHECK(content(file) == "new");
  CHECK(folder.files() == 1);
}

TEST_CASE("links are followed, also to a file that is not there; other names of a file see it") {
  const Folder folder;
  fs::create_directory(folder.at("d"));
  fs::create_symlink("d/real", folder.at("link"));
  write_whole(folder.at("link"), "1");
  CHECK(fs::is_symlink(folder.at("link")));
  CHECK(content(folder.at("d/real")) == "1");
  fs::create_hard_link(folder.at("d/real"), folder.at("twin"));
  write_whole(folder.at("link"), "2");
  CHECK(content(folder.at("twin")) == "2");
}

TEST_CASE("one that reads while it is written sees the old or the new, and writers at once leave one of theirs") {
  const Folder folder;
  const std::string file = folder.at("f");
  const std::size_t size = 1 << 20;
  write_whole(file, std::string(size, 'a'));
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'i'; ++c) writers.emplace_back([&, c] { write_whole(file, std::string(size, c)); });
  for (int i = 0; i < 20; ++i) {
    const std::string seen = content(file);
    CHECK(seen == std::string(size, seen.empty() ? 'x' : seen[0]));
  }
  for (std::thread& w : writers) w.join();
  CHECK(folder.files() == 1);
}

TEST_CASE("what cannot be written is an error before and at the time, and leaves nothing") {
  const Folder folder;
  for (const std::string& bad : {folder.at("no/f"), folder.path.string()}) {
    CHECK_THROWS_AS(check_writable(bad), UserError);
    CHECK_THROWS_AS(write_whole(bad, "x"), UserError);
  }
  check_writable(folder.at("new"));
  CHECK(folder.files() == 0);
  CHECK_THROWS_AS(write_whole("/dev/full", "x"), UserError);
  write_whole("/dev/null", "x");
}

TEST_CASE("two names of one file are one file") {
  const Folder folder;
  fs::create_symlink("f", folder.at("link"));
  CHECK(same_file(folder.at("f"), folder.at("./f")));
  CHECK(same_file(folder.at("f"), folder.at("link")));
  CHECK_FALSE(same_file(folder.at("f"), folder.at("g")));
}
