#include "rehearse/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "vramplan/base/error.h"

extern char** environ;

namespace vramplan {
namespace {

volatile std::sig_atomic_t child_pid = 0;

void pass_on(int signal) {
  if (child_pid > 0) kill(static_cast<pid_t>(child_pid), signal);
}

/// While a child runs: a terminal's interrupt goes to it anyway, so we only stay; what is sent to us alone is passed
/// on.
class Signals {
 public:
  Signals() {
    struct sigaction stay {};
    stay.sa_handler = SIG_IGN;
    struct sigaction forward {};
    forward.sa_handler = pass_on;
    forward.sa_flags = SA_RESTART;
    sigaction(SIGINT, &stay, &before_[0]);
    sigaction(SIGQUIT, &stay, &before_[1]);
    sigaction(SIGTERM, &forward, &before_[2]);
    sigaction(SIGHUP, &forward, &before_[3]);
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  void restore() const {
    for (int i = 0; i < 4; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr int kSignals[4] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  struct sigaction before_[4]{};
};

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
  const bool missing = error == ENOENT;
  throw UserError(fmt::format("cannot run '{}': {}", command, std::strerror(error)), "command",
                  missing ? "check its name and PATH" : "check that it may be executed",
                  static_cast<Exit>(missing ? 127 : 126));
}

}  // namespace

int run_child(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words = command, variables = environment_with(environment);
  const std::vector<char*> argv = pointers(words), envp = pointers(variables);
  int failure[2];  // closed by a successful exec, else carries errno
  if (pipe2(failure, O_CLOEXEC) != 0) cannot_run(command[0], errno);
  const Signals signals;
  const pid_t pid = fork();
  if (pid < 0) cannot_run(command[0], errno);
  if (pid == 0) {
    signals.restore();
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const auto written = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  child_pid = pid;
  close(failure[1]);
  int error = 0;
  const bool failed = read(failure[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  close(failure[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  child_pid = 0;
  if (failed) cannot_run(command[0], error);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace vramplan
