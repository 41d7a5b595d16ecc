#include "rehearse/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "probe/process_tree.h"
#include "rehearse/signals.h"
#include "vramplan/base/error.h"

extern char** environ;

namespace vramplan {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** e = environ; *e; ++e) {
    const std::string entry(*e);
    if (!added.count(entry.substr(0, entry.find('=')))) out.push_back(entry);
  }
  for (const auto& [name, value] : added) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

[[noreturn]] void cannot_run(const std::string& command, int error) {
  if (error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE)
    throw UserError(fmt::format("no process can be made for '{}': {}", command, std::strerror(error)), "command",
                    "raise the limits of this shell: ulimit -a");
  const bool missing = error == ENOENT;
  throw UserError(fmt::format("cannot run '{}': {}", command, std::strerror(error)), "command",
                  missing ? "check its name and PATH" : "check that it may be executed",
                  static_cast<Exit>(missing ? 127 : 126));
}

}  // namespace

namespace {

/// In the child: becomes the command, or tells errno through `failure`.
[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& envp, int failure, pid_t parent) {
  PassedOnSignals::restore();
  PassedOnSignals::release();
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // it does not go on when we are killed
  if (getppid() != parent) _exit(127);
  execvpe(argv[0], argv.data(), envp.data());
  const int error = errno;
  [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
  _exit(127);
}

int waited_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_child(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words = command, variables = environment_with(environment);
  const std::vector<char*> argv = pointers(words), envp = pointers(variables);
  int failure[2];  // closed by a successful exec, else carries errno
  if (pipe2(failure, O_CLOEXEC) != 0) cannot_run(command[0], errno);
  const PassedOnSignals signals;
  const Subreaper subreaper;
  PassedOnSignals::hold();
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) become(argv, envp, failure[1], parent);
  const int refused = errno;
  if (pid > 0) PassedOnSignals::go_to(pid);
  PassedOnSignals::release();
  close(failure[1]);
  int error = 0;
  const bool failed = pid > 0 && read(failure[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  close(failure[0]);
  if (pid < 0) cannot_run(command[0], refused);
  const int status = waited_for(pid);
  PassedOnSignals::go_to(0);
  if (failed) cannot_run(command[0], error);
  if (const int ending = PassedOnSignals::ending())  // what the command leaves behind ends with it
    for (const std::int64_t left : descendants()) kill(static_cast<pid_t>(left), ending);
  return status;
}

}  // namespace vramplan
