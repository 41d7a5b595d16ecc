// Runs the program as a user does, and gathers what it says.
#pragma once
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "schema.h"

namespace vramplan::test {

struct Result {
  std::string out, err;
  int status;
};

inline std::string slurp(const std::string& path) {
  std::ifstream f(path);
  return {std::istreambuf_iterator<char>(f), {}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// Every JSON document that a test gets is one of its schema; with VRAMPLAN_KEEP_JSON it is also written there, for a
/// validator of others.
inline void check_document(const std::string& text) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("kind")) return;
  const auto kind = document.at("kind").get<std::string>();
  CAPTURE(kind);
  for (const std::string& breach : Schema(kind + ".schema.json").breaches(document)) CHECK_MESSAGE(false, breach);
  static int kept = 0;
  if (const char* folder = std::getenv("VRAMPLAN_KEEP_JSON"))
    std::ofstream(std::string(folder) + "/" + kind + "-" + std::to_string(++kept) + ".json") << text;
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
  check_document(r.out);
  return r;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace vramplan::test
