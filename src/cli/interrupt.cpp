#include "cli/interrupt.h"

#include <csignal>

namespace vramplan {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");

void on_interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() { std::signal(SIGINT, on_interrupt); }
Interrupt::~Interrupt() { std::signal(SIGINT, SIG_DFL); }
const std::atomic<bool>& Interrupt::asked() { return interrupted; }

}  // namespace vramplan
