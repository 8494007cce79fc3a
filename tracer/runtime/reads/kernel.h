// System calls of our own, which the filter of a run lets pass (call_filter.h).
#ifndef POWERCUT_TRACER_RUNTIME_READS_KERNEL_H_
#define POWERCUT_TRACER_RUNTIME_READS_KERNEL_H_

#include <sys/syscall.h>

extern "C" {
// As the kernel answers: -errno for an error.
[[gnu::visibility("hidden")]] long powercut_reads_call(long number, long a, long b, long c, long d, long e, long f);
// Behind its one `syscall`: what a filter sees as the place of the call.
[[gnu::visibility("hidden")]] extern const char powercut_reads_called[];
// Behind the one that starts threads (other_threads.cc).
[[gnu::visibility("hidden")]] extern const char powercut_reads_cloned[];
}

namespace powercut::runtime {

inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  return powercut_reads_call(number, a, b, c, d, e, f);
}

// The signal does again what it does to a process that never handled it.
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
