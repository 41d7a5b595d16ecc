#include "rehearse/signals.h"

#include <array>
#include <cerrno>
#include <csignal>

namespace vramplan {
namespace {

constexpr std::array<int, 8> kPassedOn{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
constexpr std::size_t kEnding = 4;  ///< the first of them usually end a program

// A handler reaches nothing but these.
volatile std::sig_atomic_t receiver = 0, last_ending = 0;
volatile std::sig_atomic_t waiting[kPassedOn.size()];
struct sigaction before[kPassedOn.size()];
bool installed = false;

std::size_t index_of(int signal) {
  std::size_t i = 0;
  while (i + 1 < kPassedOn.size() && kPassedOn[i] != signal) ++i;
  return i;
}

/// What a terminal sends goes to its whole group, and so to the command without us.
void on_signal(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const std::size_t i = index_of(signal);
  if (receiver == 0) {
    waiting[i] = 1;
  } else {
    if (i < kEnding) last_ending = signal;
    if (info->si_code != SI_KERNEL) kill(static_cast<pid_t>(receiver), signal);
  }
  errno = error;
}

sigset_t passed_on() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn) sigaddset(&set, signal);
  return set;
}

}  // namespace

PassedOnSignals::PassedOnSignals() : first_(!installed) {
  if (!first_) return;
  installed = true;
  last_ending = 0;
  struct sigaction pass {};
  pass.sa_sigaction = on_signal;
  pass.sa_flags = SA_RESTART | SA_SIGINFO;
  for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
    waiting[i] = 0;
    sigaction(kPassedOn[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kPassedOn[i], &pass, nullptr);  // nohup stays nohup
  }
}

PassedOnSignals::~PassedOnSignals() {
  if (!first_) return;
  go_to(0);
  restore();
  installed = false;
  for (std::size_t i = 0; i < kEnding; ++i)
    if (waiting[i]) std::raise(kPassedOn[i]);
}

void PassedOnSignals::go_to(pid_t child) {
  receiver = child;
  for (std::size_t i = 0; child != 0 && i < kPassedOn.size(); ++i)
    if (waiting[i]) {
      waiting[i] = 0;
      if (i < kEnding) last_ending = kPassedOn[i];
      kill(child, kPassedOn[i]);
    }
}

int PassedOnSignals::ending() { return last_ending; }

void PassedOnSignals::hold() {
  const sigset_t set = passed_on();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

void PassedOnSignals::release() {
  const sigset_t set = passed_on();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void PassedOnSignals::restore() {
  for (std::size_t i = 0; i < kPassedOn.size(); ++i) sigaction(kPassedOn[i], &before[i], nullptr);
}

}  // namespace vramplan
