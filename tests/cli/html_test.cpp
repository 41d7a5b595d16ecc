// The page of an estimate and the timeline behind it: the same figures as the JSON, and nothing that a name can break.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::run;
using vramplan::test::slurp;

namespace {

const std::string kJob = " --model gpt2 --gpu rtx-4090 --micro-batch 4 --seq 1024 --segments 4 --precision amp-bf16";

/// The bytes in the row of a table whose first cell is `name`.
std::int64_t cell(const std::string& html, const std::string& name) {
  std::smatch found;
  const std::regex row(name + "</t[dh]><td class=\"n\" data-bytes=\"([0-9]+)\"");
  REQUIRE(std::regex_search(html, found, row));
  return std::stoll(found[1]);
}

}  // namespace

TEST_CASE("page and JSON tell the same bytes") {
  const std::string html = run("estimate" + kJob + " --html -").out;
  const json j = json::parse(run("estimate" + kJob + " --json").out);
  for (const char* name : {"allocated", "reserved", "capacity"}) CHECK(cell(html, name) == j.at("counters").at(name));
  CHECK(cell(html, "device used") == j.at("counters").at("device_used"));
  for (const json& p : j.at("phases")) CHECK(cell(html, p.at("name").get<std::string>()) == p.at("peak"));
  for (const auto& [name, bytes] : j.at("peak").at("categories").items())
    CHECK(cell(html, "</span>" + name) == bytes.get<std::int64_t>());
  CHECK(has(html, "<h1 id=\"verdict\" class=\"fits\">fits</h1>"));
  CHECK(has(html, "vramplan estimate --model gpt2 --gpu rtx-4090"));  // the command that gives it again
  CHECK_FALSE(has(html, "http://www.w3.org/1999"));
  CHECK_FALSE(std::regex_search(html, std::regex(R"((src|href)=)")));  // nothing is fetched
}

TEST_CASE("a timeline holds the peak, and its categories sum to what lives") {
  const json estimate = json::parse(run("estimate" + kJob + " --json").out);
  const json t = json::parse(run("timeline" + kJob + " --json").out);
  std::int64_t highest = 0, before = -1;
  for (const json& s : t.at("samples")) {
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : s.at("categories").items()) sum += bytes.get<std::int64_t>();
    CHECK(sum == s.at("live"));
    CHECK(s.at("event").get<std::int64_t>() > before);
    before = s.at("event").get<std::int64_t>();
    highest = std::max(highest, sum);
  }
  CHECK(highest == estimate.at("peak").at("bytes"));
  const json& peak = t.at("samples").at(t.at("peak").get<std::size_t>());
  CHECK(peak.at("live") == highest);
  CHECK(peak.at("phase") == estimate.at("peak").at("phase"));
  CHECK(before <= t.at("events"));
  CHECK(t.at("samples").size() <= 900);
}

TEST_CASE("files: a page, a picture that is XML, a trace; the largest model stays below 2 MB") {
  const std::string at = "/tmp/vramplan-html-test";
  std::filesystem::create_directories(at);
  CHECK(run("timeline" + kJob + " --html " + at + "/t.html --svg " + at + "/t.svg --trace " + at + "/t.json").status ==
        0);
  CHECK(std::system(("python3 -c \"import xml.dom.minidom as m; m.parse('" + at + "/t.svg')\"").c_str()) == 0);
  const json trace = json::parse(slurp(at + "/t.json"));
  CHECK(trace.at("traceEvents").size() > 100);
  CHECK(run("timeline --model llama-3.1-405b --seq 4096 --checkpoint per-layer --html " + at + "/big.html").status ==
        0);
  CHECK(std::filesystem::file_size(at + "/big.html") < 2 * 1000 * 1000);
  CHECK(run("timeline" + kJob + " --html /no/such/folder/t.html").status == 3);
  CHECK(has(run("timeline" + kJob).out, "of tensors at most, in "));
  std::filesystem::remove_all(at);
}

TEST_CASE("a name is text, whatever it is") {
  const std::string folder = "/tmp/vramplan-html-<b>&\"'";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(TEST_ROOT "/../data/models/gpt2/config.json", folder + "/<script>alert(1)<script>.json",
                             std::filesystem::copy_options::overwrite_existing);
  const auto r =
      run("estimate --seq 128 --html - --config \"/tmp/vramplan-html-<b>&\\\"'/<script>alert(1)<script>.json\"");
  std::filesystem::remove_all(folder);
  CHECK(r.status == 0);
  CHECK_FALSE(has(r.out, "<script>alert"));
  CHECK_FALSE(has(r.out, "<b>"));
  CHECK(has(r.out, "&lt;script&gt;alert"));
}
