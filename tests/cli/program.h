// Runs the program as a user does, and gathers what it says.
#pragma once
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace vramplan::test {

struct Result {
  std::string out, err;
  int status;
};

inline std::string slurp(const std::string& path) {
  std::ifstream f(path);
  return {std::istreambuf_iterator<char>(f), {}};
}

/// `before` the program: "env NAME=value ".
inline Result run(const std::string& arguments, const std::string& input = "", const std::string& before = "") {
  char folder[] = "/tmp/vramplan-cli-XXXXXX";
  REQUIRE(mkdtemp(folder));
  const std::string at(folder);
  std::ofstream(at + "/in") << input;
  const int status = std::system(
      (before + VRAMPLAN_BINARY + " " + arguments + " <" + at + "/in >" + at + "/out 2>" + at + "/err").c_str());
  Result r{slurp(at + "/out"), slurp(at + "/err"), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  for (const char* name : {"/in", "/out", "/err"}) std::remove((at + name).c_str());
  std::remove(folder);
  return r;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace vramplan::test
