// Without evidence there is no verdict: however PyTorch is imported it is seen, and where it is not, or made no step on
// the card, or did not come to its end, that is said.
#include "rehearse/evidence.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "cli/hook.h"
#include "vramplan/base/bytes.h"

using namespace vramplan;
namespace fs = std::filesystem;

namespace {

/// tests/rehearse/late.py, in one of its ways. Flags of Python come before.
Rehearsal run_late(const std::string& way, const std::string& flags = "", const std::string& after = "",
                   bool strict = false) {
  RehearsalOptions o;
  o.library = fs::path(VIRTUALGPU_LIBRARY).parent_path();
  o.command = {"sh", "-c", "python3 " + flags + " " TEST_ROOT "/rehearse/late.py " + way + after};
  o.strict = strict;
  Job job;
  job.card = card_of_size(Bytes(kGiB));
  return rehearse(job, o, hook_files(Data(TEST_ROOT "/../data"), "rehearse"));
}

/// Words of what is missing, the most telling first.
bool lacks(const Rehearsal& r, std::string_view what) {
  return r.verdict == Verdict::unknown && !r.missing.empty() && r.missing.front().find(what) != std::string::npos;
}

RehearsedProcess process(std::int64_t steps, std::int64_t on_card) {
  RehearsedProcess p;
  p.torch = "2";
  p.cuda_build = true;
  p.steps = steps;
  p.steps_on_card = on_card;
  p.devices.emplace_back();
  return p;
}

}  // namespace

TEST_CASE("however PyTorch is looked up and imported, its steps are seen") {
  for (const char* way : {"plain", "looked-up", "reloaded", "fails-at-first", "spawned", "forked",
                          "forked-after-import", "forkserver", "hard-exit"}) {
    CAPTURE(way);
    const Rehearsal r = run_late(way);
    CHECK(r.status == 0);
    CHECK(r.verdict == Verdict::fits);
    CHECK(r.missing.empty());
    CHECK(r.counters.allocated == Bytes(12 * kMiB));
    std::int64_t steps = 0;
    for (const RehearsedProcess& p : r.processes) steps += p.steps_on_card;
    CHECK(steps == 2);
  }
}

TEST_CASE("what is no evidence gives no verdict, and says what is missing") {
  CHECK(lacks(run_late("without-steps"), "no step of an optimizer"));
  CHECK(lacks(run_late("on-the-cpu"), "left the card alone"));
  CHECK(lacks(run_late("past-the-hook"), "past the hook"));
  CHECK(lacks(run_late("killed", "", "; true"), "did not come to its end"));
  const Rehearsal killed = run_late("killed");
  CHECK(killed.status == 128 + 9);
  CHECK(lacks(killed, "signal 9"));
  CHECK(killed.counters.allocated == Bytes(12 * kMiB));  // until its last step
}

TEST_CASE("Python's flags that keep the hook out are named, and so is an empty environment") {
  CHECK(lacks(run_late("plain", "-I"), "python3 -I ignores PYTHONPATH"));
  CHECK(lacks(run_late("plain", "-E"), "-E ignores PYTHONPATH"));
  CHECK(lacks(run_late("plain", "-BS"), "-S loads no site modules"));
  CHECK(lacks(run_late("on-the-cpu", "-I"), "python3 -I"));
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"env", "-i", "python", "x.py"}, "env -i clears the environment"},
      {{"env", "-u", "A", "--ignore-environment", "x"}, "clears the environment"},
      {{"/usr/bin/env", "-", "x"}, "clears the environment"},
      {{"sh", "-c", "cd x && env -i python train.py"}, "env -i"},
      {{"/opt/python3.12", "-W", "ignore", "-Im", "train"}, "python3.12 -I"},
      {{"env", "A=1", "python", "-S", "x.py"}, "python -S"}};
  for (const auto& [words, why] : cases) CHECK(why_unhooked(words).find(why) != std::string::npos);
  const std::vector<std::string> fine[] = {{"python", "-m", "train", "-I"},       {"python", "train.py", "-S"},
                                           {"python", "-W", "Error", "x.py"},     {"python", "-c", "print('-I')"},
                                           {"env", "-u", "-i", "python", "x.py"}, {"env", "A=1", "python", "x.py"},
                                           {"python", "-OO", "-u", "x.py"},       {}};
  for (const auto& words : fine) CHECK(why_unhooked(words).empty());
}

TEST_CASE("steps count that used the card, in the process that made most of them") {
  Rehearsal r;
  r.processes = {process(3, 3)};
  CHECK(missing_evidence(r, false).empty());
  r.processes = {process(0, 0), process(3, 3)};  // one that only loads, say
  CHECK(missing_evidence(r, false).empty());
  r.processes = {process(3, 2)};  // a step before training
  CHECK(missing_evidence(r, false).empty());
  r.processes = {process(4, 1)};
  REQUIRE(missing_evidence(r, false).size() == 1);
  CHECK(missing_evidence(r, false)[0].starts_with("1 of 4 optimizer steps used the card"));
  r.processes = {process(3, 3)};
  r.processes[0].unanswered["cuSomething"] = 1;
  CHECK(missing_evidence(r, false).empty());
  CHECK(missing_evidence(r, true).size() == 1);  // --strict
  r.processes[0].ended = false;
  CHECK(missing_evidence(r, false).size() == 1);
}
