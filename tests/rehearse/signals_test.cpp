// Signals that are sent to us reach the command, and what we made for it is gone when it has ended.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "rehearse/child.h"
#include "rehearse/workplace.h"
#include "vramplan/base/error.h"

using namespace vramplan;
namespace fs = std::filesystem;

namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    char name[] = "/tmp/vramplan-signals-XXXXXX";
    REQUIRE(mkdtemp(name));
    path = name;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  fs::path path;
};

std::string content(const fs::path& file) {
  std::ifstream f(file);
  return {std::istreambuf_iterator<char>(f), {}};
}

void wait_for(const fs::path& file) {
  for (int i = 0; i < 500 && !fs::exists(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// A process of ours runs `script` in a workplace below `folder`; `signal` is sent to us when the script has made
/// "ready". How we ended: the command's status, or 200 + the signal that ended us.
int outcome(const fs::path& folder, const std::string& script, int signal) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("TMPDIR", folder.c_str(), 1);
    setenv("FOLDER", folder.c_str(), 1);
    int status = 99;
    {
      const Workplace workplace(HookFiles{{"a.py", "x"}});
      status = run_child({"sh", "-c", script}, {});
    }
    _exit(status);
  }
  wait_for(folder / "ready");
  kill(pid, signal);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 200 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::size_t workplaces(const fs::path& folder) {
  std::size_t n = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    n += entry.path().filename().string().starts_with("vramplan-");
  return n;
}

}  // namespace

TEST_CASE("each signal reaches the command, which decides what becomes of it") {
  for (const auto& [name, number] : {std::pair{"USR1", SIGUSR1},
                                     {"USR2", SIGUSR2},
                                     {"ALRM", SIGALRM},
                                     {"INT", SIGINT},
                                     {"TERM", SIGTERM},
                                     {"HUP", SIGHUP}}) {
    CAPTURE(name);
    const TemporaryFolder f;
    const std::string script = std::string("trap 'echo got > $FOLDER/got; exit 7' ") + name +
                               "; : > $FOLDER/ready; while :; do sleep 0.05; done";
    CHECK(outcome(f.path, script, number) == 7);
    CHECK(content(f.path / "got") == "got\n");
    CHECK(workplaces(f.path) == 0);
  }
}

TEST_CASE("a command that a signal ends leaves no folder and no child of its own") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    CAPTURE(number);
    const TemporaryFolder f;
    // The shell's child is told its number through a file; an interrupt is ignored by what runs in the background.
    const std::string script = "sleep 300 & echo $! > $FOLDER/pid; trap - INT; : > $FOLDER/ready; wait";
    CHECK(outcome(f.path, script, number) == 128 + number);
    CHECK(workplaces(f.path) == 0);
    const pid_t left = std::stoi(content(f.path / "pid"));
    if (number == SIGINT) {
      kill(left, SIGKILL);
      continue;
    }
    bool gone = false;
    for (int i = 0; i < 200 && !gone; ++i) {
      gone = kill(left, 0) != 0 || content("/proc/" + std::to_string(left) + "/stat").find(") Z") != std::string::npos;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(gone);
  }
}

TEST_CASE("a command does not outlive us") {
  const TemporaryFolder f;
  CHECK(outcome(f.path, "echo $$ > $FOLDER/pid; : > $FOLDER/ready; exec sleep 300", SIGKILL) == 200 + SIGKILL);
  const std::string pid = content(f.path / "pid");
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    const std::string stat = content("/proc/" + pid.substr(0, pid.find('\n')) + "/stat");
    gone = stat.empty() || stat.find(") Z") != std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone);
}

TEST_CASE("a signal that is ignored stays ignored, in the command too") {
  const TemporaryFolder f;
  std::signal(SIGHUP, SIG_IGN);
  const int status = outcome(f.path, ": > $FOLDER/ready; sleep 0.3; kill -HUP $$; exit 5", SIGHUP);
  std::signal(SIGHUP, SIG_DFL);
  CHECK(status == 5);
}

TEST_CASE("temporary folders that cannot be used are passed over") {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  const TemporaryFolder f;
  fs::create_directory(f.path / "a:b");
  for (const std::string& bad : {std::string("/no/such/folder"), (f.path / "a:b").string(), std::string("/dev/null")}) {
    CAPTURE(bad);
    setenv("TMPDIR", bad.c_str(), 1);
    const Workplace w(HookFiles{{"a.py", "x"}});
    CHECK(w.path().find(':') == std::string::npos);
    CHECK(content(fs::path(w.path()) / "a.py") == "x");
  }
  if (before)
    setenv("TMPDIR", kept.c_str(), 1);
  else
    unsetenv("TMPDIR");
}

TEST_CASE("a workplace that the program removed is an error with a reason") {
  const Workplace w(HookFiles{{"a.py", "x"}});
  CHECK(w.reports(".py").size() == 1);
  fs::remove_all(w.path());
  CHECK_THROWS_AS(w.reports(".py"), UserError);
}
