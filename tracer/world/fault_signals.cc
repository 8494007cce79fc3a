#include "tracer/world/fault_signals.h"

namespace powercut {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
alignas(64) char stack[256 * 1024];

}  // namespace

void handle_faults(void (*handler)(int signal, siginfo_t* info, void* context)) {
  stack_t alternate{};
  alternate.ss_size = sizeof stack;
  alternate.ss_sp = stack;
  sigaltstack(&alternate, nullptr);
  for (const int fault : kFaults) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(fault, &action, nullptr);
  }
}

void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace powercut
