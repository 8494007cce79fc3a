// Threads and processes beside the one at hand, in a run that reports its reads.
//
// Threads share what the report is made of, and take turns at it: `Alone`. An instruction that needs a closed page is
// let run alone in the process: the others are stopped (a signal to each, which its handler answers) until the page is
// closed again, so that none of them reads there unseen. One that waits in the kernel is not disturbed; it stops when
// it comes back. A child has a copy of all of this, and shares the log alone.
//
// Once there is a second thread or process, what is overwritten counts as read: which of the two came first, an
// announcement does not tell.
//
// Known inaccuracies: a signal that the program handles while an instruction runs alone holds the others up, and a
// handler that waits for them never ends; the run is then another one than without a report, which the engine notices.
#ifndef POWERCUT_TRACER_RUNTIME_READS_OTHER_THREADS_H_
#define POWERCUT_TRACER_RUNTIME_READS_OTHER_THREADS_H_

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace powercut::runtime {

// Whether the run has started a thread, and a thread or a process.
bool has_threads();
bool is_concurrent();

// While it lives no other thread has one. A thread may have several.
class Alone {
 public:
  Alone();
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
};
// The same, over the end of a handler.
void take_turn();
void give_turn();

// The thread has its turn. Until go_on() no other one executes an instruction of the program.
void stop_others();
void go_on();
// In the handler of SIGTRAP: whether the signal is stop_others()'s. Returns when the thread may go on.
bool stopped_by(const siginfo_t* info);

// Calls of the kernel that wait, and that a signal would end early: they are made by wait_in_kernel().
bool waits(long number);
long wait_in_kernel(long number, const long (&a)[6]);

// The system calls of the run that start a thread or a process, in the handler of such a call. What the program finds
// in rax; `context` may lead it elsewhere. Ends a run that starts what cannot be followed.
long start_another(long number, const long (&a)[6], ucontext_t* context);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_OTHER_THREADS_H_
