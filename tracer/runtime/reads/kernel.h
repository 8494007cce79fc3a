// System calls of the runtime's own, which the filter of a run lets pass (call_filter.h).
#ifndef POWERCUT_TRACER_RUNTIME_READS_KERNEL_H_
#define POWERCUT_TRACER_RUNTIME_READS_KERNEL_H_

#include <sys/syscall.h>

extern "C" {
// Makes the call and returns what the kernel answers: -errno for an error.
[[gnu::visibility("hidden")]] long powercut_reads_call(long number, long a, long b, long c, long d, long e, long f);
// The address behind the one `syscall` of powercut_reads_call(): a filter sees it as the place of the call.
[[gnu::visibility("hidden")]] extern const char powercut_reads_called[];
// The address behind the `syscall` that starts threads (other_threads.cc).
[[gnu::visibility("hidden")]] extern const char powercut_reads_cloned[];
}

namespace powercut::runtime {

inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  return powercut_reads_call(number, a, b, c, d, e, f);
}

// Gives the signal the action that it has in a process that never handled it.
inline void default_action(int number) {
  const struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
  } none{};
  kernel(SYS_rt_sigaction, number, reinterpret_cast<long>(&none), 0, sizeof none.mask);
}

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_KERNEL_H_
