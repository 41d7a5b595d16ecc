// The hook and the virtual GPU under a stand-in for PyTorch, the collector of reports, and the running of commands.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/hook.h"
#include "rehearse/child.h"
#include "rehearse/collect.h"
#include "rehearse/rehearsal.h"
#include "vramplan/base/error.h"

using namespace vramplan;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / "vramplan-rehearse-test";
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const char* name, const char* text) const { std::ofstream(path / name) << text; }
};

HookFiles hook() { return hook_files(Data(TEST_ROOT "/../data"), "rehearse"); }

Job on_a_card(Bytes memory) {
  Job job;
  job.card = card_of_size(memory);
  return job;
}

Rehearsal rehearse_stub(const Job& job, std::vector<std::string> arguments, std::int64_t steps = 0) {
  RehearsalOptions o;
  o.library = fs::path(VIRTUALGPU_LIBRARY).parent_path();
  o.command = {"sh", "-c",
               "PYTHONPATH=\"$PYTHONPATH:" TEST_ROOT
               "/rehearse/stub\" exec python3 \"$@\" > /tmp/vramplan-rehearse-out",
               "sh", TEST_ROOT "/rehearse/program.py"};
  o.command.insert(o.command.end(), arguments.begin(), arguments.end());
  o.steps = steps;
  return rehearse(job, o, hook());
}

constexpr Bytes kMi(kMiB);

}  // namespace

TEST_CASE("steps, peaks and lines of a program, which sees its own peaks as ever") {
  const Rehearsal r = rehearse_stub(on_a_card(Bytes(kGiB)), {});
  CHECK(r.status == 0);
  CHECK(r.verdict == Verdict::fits);
  REQUIRE(r.processes.size() == 1);
  const RehearsedProcess& p = r.processes[0];
  CHECK(p.torch == "9.9.0+stub");
  CHECK(p.cuda_build);
  CHECK(p.steps == 3);
  REQUIRE(p.devices.size() == 1);
  REQUIRE(p.devices[0].steps.size() == 3);
  // Weights and activations; half as much again in backward. The old activations live on until the new come.
  const Bytes phases[3][3]{
      {kMi * 12, kMi * 14, kMi * 12}, {kMi * 16, kMi * 20, kMi * 16}, {kMi * 16, kMi * 14, kMi * 12}};
  for (std::size_t i = 0; i < 3; ++i) {
    const RehearsedStep& s = p.devices[0].steps[i];
    REQUIRE(s.phases.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) CHECK(s.phases[k].allocated == phases[i][k]);
    CHECK(s.phases[1].name == "backward");
    CHECK(s.allocated == std::max({phases[i][0], phases[i][1], phases[i][2]}));
  }
  CHECK(p.devices[0].allocated == kMi * 20);
  CHECK(p.devices[0].inactive_split == Bytes(5));
  CHECK(p.devices[0].device_used == kMi * 20 + r.context);
  CHECK(r.margin == static_cast<std::int64_t>(kGiB) - static_cast<std::int64_t>((kMi * 20 + r.context).count()));
  REQUIRE(p.timeline.samples.size() == p.timeline.events);
  const TimelineSample& highest = p.timeline.samples[p.timeline.peak];
  CHECK(highest.live == kMi * 20);
  CHECK(highest.phase == Phase::backward);
  CHECK(highest.by_category[static_cast<std::size_t>(Category::parameter)] == kMi * 8);
  CHECK(highest.by_category[static_cast<std::size_t>(Category::activation)] == kMi * 8);
  CHECK(highest.by_category[static_cast<std::size_t>(Category::activation_gradient)] == kMi * 4);
  REQUIRE(p.places.size() == 3);
  CHECK(p.places[0].bytes == kMi * 8);
  CHECK(p.places[0].place == TEST_ROOT "/rehearse/program.py:7 <module>");
  CHECK(p.places[0].kind == "weights");
  CHECK(p.places[1].place == TEST_ROOT "/rehearse/program.py:12 step");
  CHECK(p.places[1].kind == "activations");
  REQUIRE(p.reads.size() == 1);
  CHECK(p.reads[0].place == TEST_ROOT "/rehearse/program.py:15 step");
  CHECK(p.reads[0].count == 3);
  std::ifstream out("/tmp/vramplan-rehearse-out");
  std::string first, second;
  std::getline(out, first);
  std::getline(out, second);
  CHECK(first == "peak 20");
  CHECK(second == "after reset 8");
}

TEST_CASE("a card that is too small, a status passed on, a stop after some steps") {
  const Rehearsal small = rehearse_stub(on_a_card(Bytes(kGiB)), {"huge"});
  CHECK(small.verdict == Verdict::does_not_fit);
  CHECK(small.status == 1);
  REQUIRE(small.processes.size() == 1);
  CHECK(small.processes[0].out_of_memory.starts_with("CUDA out of memory"));
  const Rehearsal status = rehearse_stub(on_a_card(Bytes(kGiB)), {"-", "7"});
  CHECK(status.status == 7);
  CHECK(status.verdict == Verdict::unknown);  // whatever made it fail: what it would have taken is not known
  CHECK(status.counters.allocated == kMi * 20);
  const Rehearsal stopped = rehearse_stub(on_a_card(Bytes(kGiB)), {}, 2);
  CHECK(stopped.status == 0);
  REQUIRE(stopped.processes.size() == 1);
  CHECK(stopped.processes[0].steps == 2);
  REQUIRE(stopped.processes[0].places.size() == 3);
  const Rehearsal near = rehearse_stub(on_a_card(kMi * 20 + Bytes(kGiB * 6 / 10) + kMi), {});
  CHECK(near.verdict == Verdict::tight);
}

TEST_CASE("several ranks, one of which fails of something else than memory: what to try instead") {
  RehearsalOptions o;
  o.library = fs::path(VIRTUALGPU_LIBRARY).parent_path();
  o.command = {"sh", "-c",
               "export PYTHONPATH=\"$PYTHONPATH:" TEST_ROOT "/rehearse/stub\"; P=" TEST_ROOT
               "/rehearse/program.py; { python3 $P & python3 $P - 7; } > /dev/null; s=$?; wait; exit $s"};
  const Rehearsal r = rehearse(on_a_card(Bytes(kGiB)), o, hook());
  CHECK(r.status == 7);
  CHECK(r.processes.size() == 2);
  CHECK(std::any_of(r.warnings.begin(), r.warnings.end(),
                    [](const std::string& w) { return w.find("--world N") != std::string::npos; }));
}

TEST_CASE("a program's folder is left as it was, also by the report at the very end") {
  const Folder f;
  const fs::path before = fs::current_path();
  fs::current_path(f.path);
  const Rehearsal r = rehearse_stub(on_a_card(Bytes(kGiB)), {});
  fs::current_path(before);
  CHECK(r.status == 0);
  CHECK(fs::is_empty(f.path));
}

TEST_CASE("a program that leaves the card alone has no verdict") {
  RehearsalOptions o;
  o.library = fs::path(VIRTUALGPU_LIBRARY).parent_path();
  o.command = {"true"};
  const Rehearsal r = rehearse(on_a_card(Bytes(kGiB)), o, hook());
  CHECK(r.verdict == Verdict::unknown);
  CHECK(r.processes.empty());
  CHECK_THROWS_AS(rehearse(Job{}, o, hook()), UserError);
}

TEST_CASE("commands: status, signal, environment, what cannot be run") {
  CHECK(run_child({"true"}, {}) == 0);
  CHECK(run_child({"sh", "-c", "exit 9"}, {}) == 9);
  CHECK(run_child({"sh", "-c", "kill -TERM $$"}, {}) == 128 + 15);
  CHECK(run_child({"sh", "-c", "test \"$ADDED\" = 'a b' && test \"$PATH\""}, {{"ADDED", "a b"}}) == 0);
  auto status = [](std::vector<std::string> command) {
    try {
      run_child(command, {});
    } catch (const UserError& e) {
      return static_cast<int>(e.status);
    }
    return 0;
  };
  CHECK(status({"no-such-command-anywhere"}) == 127);
  CHECK(status({"/tmp"}) == 126);
}

TEST_CASE("reports: by rank, idle devices left out, damaged ones named") {
  const Folder f;
  f.write("20.torch.json", R"({"rank":1,"steps":2,"torch":"2","cuda_build":true,"devices":[
      {"device":0,"allocated":0,"reserved":0},{"device":1,"allocated":5,"reserved":7,"steps":[{"allocated":4,"reserved":7}]}]})");
  f.write("20.device.json", R"({"zero_reads":3,"cards":[{"peak":100},{"peak":107}],"stubs":{"cudnnGetFoo":2}})");
  f.write("30.torch.json", R"({"rank":0,"devices":[{"device":0,"allocated":1,"reserved":2}]})");
  f.write("30.device.json", R"({"cards":[{"peak":102},{"peak":100}]})");
  f.write("40.torch.json", "{\"rank\":");
  f.write("50.device.json", R"({"cards":[{"peak":300,"refused":1}]})");
  f.write("notes.txt", "");
  std::vector<std::string> warnings;
  const auto found = collect_reports(f.path.string(), Bytes(100), warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("40.torch.json") != std::string::npos);
  REQUIRE(found.size() == 3);
  CHECK(found[0].pid == 30);
  CHECK(found[1].pid == 50);  // not PyTorch, but it used the card
  CHECK(found[1].devices.at(0).device_used == Bytes(300));
  REQUIRE(found[2].devices.size() == 1);
  CHECK(found[2].devices[0].device == 1);
  CHECK(found[2].devices[0].device_used == Bytes(107));
  CHECK(found[2].devices[0].steps.at(0).reserved == Bytes(7));
  CHECK(found[2].unanswered.at("cudnnGetFoo") == 2);
  CHECK(found[2].zero_reads == 3);
}
