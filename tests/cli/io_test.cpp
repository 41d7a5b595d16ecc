// Nothing is lost in silence: full disks, closed streams, killed runs, files that are read and written, odd names.
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "program.h"

using nlohmann::json;
using vramplan::test::has;
using vramplan::test::Result;
using vramplan::test::run;
using vramplan::test::slurp;
namespace fs = std::filesystem;

namespace {

const std::string kProgram = VRAMPLAN_BINARY, kSmallJob = " --model gpt2 --seq 64 ";

/// A command of a shell, in a folder of its own that is gone at the end.
class Shell {
 public:
  Shell() {
    char name[] = "/tmp/vramplan-io-XXXXXX";
    REQUIRE(mkdtemp(name));
    folder_ = name;
  }
  ~Shell() { fs::remove_all(folder_); }
  Result operator()(const std::string& command) const {
    const std::string at = folder_.string();
    std::ofstream(at + "/.sh") << "cd " << at << "\nP=" << kProgram << "\n" << command << "\n";
    const int status = std::system(("sh " + at + "/.sh >" + at + "/.out 2>" + at + "/.err").c_str());
    return {slurp(at + "/.out"), slurp(at + "/.err"), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

}  // namespace

TEST_CASE("a full disk and a closed output are status 3 with the reason, for every kind of output") {
  const Shell shell;
  std::ofstream(shell.at("jobs.csv")) << "model,seq\ngpt2,64\n";
  for (const std::string& command : {std::string("--help"),
                                     std::string("--version"),
                                     std::string("help plan"),
                                     "estimate" + kSmallJob,
                                     "estimate --json" + kSmallJob,
                                     "estimate --csv" + kSmallJob,
                                     "estimate --md" + kSmallJob,
                                     "estimate --html -" + kSmallJob,
                                     "curve --csv" + kSmallJob,
                                     "explain" + kSmallJob,
                                     "timeline" + kSmallJob,
                                     std::string("batch jobs.csv"),
                                     std::string("batch jobs.csv --json"),
                                     "plan --gpu t4 --max micro-batch" + kSmallJob,
                                     "plan --gpu t4 --sweep micro-batch=1,2 --csv" + kSmallJob,
                                     "sheet --gpus t4" + kSmallJob,
                                     "compare" + kSmallJob + "-- --seq 65",
                                     std::string("gpus"),
                                     std::string("gpus show t4 --json"),
                                     std::string("models"),
                                     std::string("schema"),
                                     std::string("schema estimate"),
                                     std::string("completions bash"),
                                     std::string("manual"),
                                     "probe train --backend dry" + kSmallJob}) {
    CAPTURE(command);
    for (const char* out : {">/dev/full", ">&-"}) {
      const Result r = shell("$P " + command + " " + out);
      CHECK(r.status == 3);
      CHECK(has(r.err, "standard output: cannot be written"));
    }
    CHECK(shell("$P " + command + " 2>&-").status < 2);
    if (has(command, "help") || has(command, "version") || has(command, " -- ")) continue;  // -q is not theirs
    CHECK(shell("$P " + command + " -q >/dev/full").status < 2);
  }
}

TEST_CASE("an error with a closed standard error keeps its status, one as JSON that cannot be written too") {
  const Shell shell;
  CHECK(shell("$P estimate --modl x 2>&-").status == 2);
  const Result r = shell("$P estimate --modl x --json >/dev/full");
  CHECK(r.status == 3);
  CHECK(has(r.err, "No space left"));
}

TEST_CASE("a reader that goes away ends the program quietly, also where the signal is blocked") {
  const Shell shell;
  for (const char* before : {"", "trap '' PIPE; "}) {
    const Result r = shell(std::string("(") + before + "$P gpus; echo status $? >&2) | true");
    CHECK((has(r.err, "status 141") || has(r.err, "status 0")));
    CHECK_FALSE(has(r.err, "vramplan:"));
  }
}

TEST_CASE("a closed output never lends its number to a file") {
  const Shell shell;
  CHECK(shell("$P estimate" + kSmallJob + "--html page.html >&-").status == 3);
  CHECK(has(slurp(shell.at("page.html")), "</html>"));
  CHECK_FALSE(has(slurp(shell.at("page.html")), "device used decides\n"));
}

TEST_CASE("files are named when they are there, and not with -q") {
  const Shell shell;
  const Result r = shell("$P estimate" + kSmallJob + "--html a.html");
  CHECK(has(r.err, "wrote a.html"));
  CHECK(shell("$P estimate" + kSmallJob + "--html a.html -q").err.empty());
  CHECK_FALSE(has(shell("$P estimate" + kSmallJob + "--html no/a.html").err, "wrote"));
}

TEST_CASE("an output that is also an input or another output is refused, and nothing is touched") {
  const Shell shell;
  std::ofstream(shell.at("job.json")) << R"({"model": "gpt2", "seq": 64})";
  fs::create_symlink("job.json", shell.at("link"));
  for (const char* flags : {"estimate --job job.json --html job.json", "estimate --job job.json --html ./link",
                            "estimate --model gpt2 --seq 64 --html a --xlsx ./a",
                            "timeline --model gpt2 --seq 64 --svg a --trace a", "batch job.json --xlsx job.json"}) {
    CAPTURE(flags);
    const Result r = shell(std::string("$P ") + flags);
    CHECK(r.status == 2);
    CHECK(has(r.err, "this file is also that of"));
    CHECK(slurp(shell.at("job.json")) == R"({"model": "gpt2", "seq": 64})");
    CHECK_FALSE(fs::exists(shell.at("a")));
  }
}

TEST_CASE("a flag is never taken for a file's name, nor nothing for a value") {
  const Shell shell;
  for (const char* flags :
       {"--html= --json", "--html=--json", "--html --json", "--config=", "--seq=", "--job --html"}) {
    CAPTURE(flags);
    CHECK(shell("$P estimate" + kSmallJob + flags).status == 2);
    CHECK_FALSE(fs::exists(shell.at("--json")));
  }
  CHECK(shell("$P estimate" + kSmallJob + "--html=./--json").status == 0);
  CHECK(fs::exists(shell.at("--json")));
}

TEST_CASE("a workbook has the same bytes whenever it is made") {
  const Shell shell;
  if (has(shell("$P estimate" + kSmallJob + "--xlsx a.xlsx").err, "built without")) return;
  sleep(2);  // the archive counts in steps of two seconds
  CHECK(shell("$P estimate" + kSmallJob + "--xlsx b.xlsx").status == 0);
  fs::rename(shell.at("a.xlsx"), shell.at("first"));
  CHECK(shell("$P estimate" + kSmallJob + "--xlsx a.xlsx").status == 0);
  CHECK(slurp(shell.at("a.xlsx")) == slurp(shell.at("first")));
}

TEST_CASE("control characters of files, names and arguments are written out everywhere") {
  const Shell shell;
  json config = json::parse(shell("cat " TEST_ROOT "/../data/models/gpt2/config.json").out);
  config["odd\x1b[31m\xC2\x9B\xE2\x80\xAEkey"] = 1;
  config["model_type"] = "gpt2";
  std::ofstream(shell.at("c.json")) << config;
  const auto raw = [](const std::string& text) {
    return has(text, "\x1b") || has(text, "\xC2\x9B") || has(text, "\xE2\x80\xAE") || has(text, "\x7f");
  };
  for (const char* form : {"", "--json", "--md", "--csv", "--flat", "--html -", "--color always -v"}) {
    CAPTURE(form);
    const Result r = shell(std::string("$P estimate --config c.json --seq 64 ") + form);
    CHECK(r.status == 0);
    CHECK_FALSE(raw(r.err));
    if (!has(form, "always")) CHECK_FALSE(raw(r.out));
    CHECK_FALSE(has(r.out, "\x1b[31m"));
    if (has(form, "json")) CHECK(has(json::parse(r.out).dump(), "odd"));
  }
  const Result bad = shell("$P estimate --model \"$(printf 'x\\033[31m\\177')\" --seq 64");
  CHECK(bad.status == 2);
  CHECK_FALSE(raw(bad.err));
}

TEST_CASE("names that are not UTF-8 are answered in every format") {
  const Shell shell;
  CHECK(shell("cp " TEST_ROOT "/../data/models/gpt2/config.json \"$(printf 'm\\377.json')\"").status == 0);
  for (const char* form : {"", "--json", "--md", "--csv", "--html -", "--xlsx o.xlsx"}) {
    CAPTURE(form);
    const Result r = shell(std::string("$P estimate --config \"$(printf 'm\\377.json')\" --seq 64 ") + form);
    CHECK((r.status == 0 || r.status == 3));
  }
  CHECK(shell("$P estimate --model \"$(printf '\\377')\" --seq 64 --json").status == 2);
  CHECK(shell("printf '{\"model\\377\": 1}' | $P estimate --job - --json").status == 3);
}

TEST_CASE("a home, a folder of data and limits that are somebody else's are no fault of the program") {
  const Shell shell;
  CHECK(shell("ulimit -u 1; $P sheet --gpus t4,a100-80gb" + kSmallJob).status == 0);
  if (getuid() != 0) return;
  CHECK(shell("mkdir -p home/.config; chmod 700 home home/.config; chmod 755 .; "
              "setpriv --reuid 65534 --clear-groups env HOME=$PWD/home XDG_CONFIG_HOME= $P estimate" +
              kSmallJob)
            .status == 0);
  CHECK(shell("chmod 700 home; setpriv --reuid 65534 --clear-groups $P estimate --config home/x.json --seq 8").status ==
        3);
  CHECK(shell("chmod 700 home; setpriv --reuid 65534 --clear-groups $P models --data-dir home/data").status == 3);
}

TEST_CASE("a verdict is an exit status with --strict, in every command that gives one") {
  const Shell shell;
  std::ofstream(shell.at("jobs.csv")) << "model,seq,micro-batch,gpu\ngpt2,64,1,t4\ngpt2,1024,4000,t4\n";
  const std::string large = " --model gpt2 --seq 1024 --micro-batch 4000 --gpu t4 ";
  const std::string small = " --model gpt2 --seq 64 --micro-batch 1 --gpu t4 ";
  CHECK(shell("$P batch jobs.csv").status == 0);
  CHECK(shell("$P batch jobs.csv --strict").status == 1);
  CHECK(shell("head -2 jobs.csv | $P batch - --strict").status == 0);
  for (const char* command : {"sheet --gpus t4", "compare"}) {
    const std::string tail = has(command, "compare") ? "-- --seq 65" : "";
    CAPTURE(command);
    CHECK(shell("$P " + std::string(command) + large + tail).status == 0);
    CHECK(shell("$P " + std::string(command) + large + "--strict " + tail).status == 1);
    CHECK(shell("$P " + std::string(command) + small + "--strict " + tail).status == 0);
  }
  CHECK(shell("$P plan" + small + "--sweep micro-batch=1,4000 --strict").status == 1);
  CHECK(shell("$P plan" + small + "--sweep micro-batch=1,2 --strict").status == 0);
  CHECK(shell("$P estimate" + small + "--strict").status == 0);
  CHECK(shell("$P estimate" + large + "--strict").status == 1);
  CHECK(shell("$P estimate --strict" + kSmallJob).status == 0);  // no card, no verdict
}

TEST_CASE("tight is 1 with --strict and 0 without") {
  const Shell shell;
  const long long whole = 16LL << 30;
  const json e = json::parse(shell("$P estimate --json --gpu-memory 16GiB" + kSmallJob).out);
  const auto margin = e.at("margin").get<long long>();
  const std::string job = "$P estimate" + kSmallJob + "--gpu-memory " + std::to_string(whole - margin + 1024);
  const Result r = shell(job);
  CHECK(r.out.starts_with("tight"));
  CHECK(r.status == 0);
  CHECK(shell(job + " --strict").status == 1);
}

TEST_CASE("a probe that measures nothing agrees with nothing and fails nothing") {
  const Result r = run("probe train --backend dry --layers 2 --hidden 64 --heads 4 --seq 16");
  CHECK(r.status == 0);
  CHECK(has(r.out, "nothing was measured"));
}

TEST_CASE("a golden that is off by one byte is status 5, in the first file and in the last, and its row is printed") {
  const Shell shell;
  std::string line;
  std::ifstream golden(TEST_ROOT "/golden/gpt2.jsonl");
  std::getline(golden, line);
  std::ofstream(shell.at("good.jsonl")) << line << "\n";
  json off = json::parse(line);
  json& peak = off.at("results").at("step2").at("peak_backward");
  peak.at(0) = peak.at(0).get<long long>() + 1;
  std::ofstream(shell.at("off.jsonl")) << off << "\n";
  CHECK(shell("$P validate good.jsonl").status == 0);
  for (const char* files : {"off.jsonl", "off.jsonl good.jsonl", "good.jsonl off.jsonl good.jsonl"}) {
    const Result r = shell(std::string("$P validate --json --worst 20 ") + files);
    CHECK(r.status == 5);
    const json rows = json::parse(r.out).at("rows");
    REQUIRE(rows.size() == 1);
    CHECK(rows.at(0).at("group") == "off");
    CHECK(rows.at(0).at("expected").get<long long>() - rows.at(0).at("found").get<long long>() == 1);
    CHECK(shell(std::string("$P validate ") + files).status == 5);
  }
}
