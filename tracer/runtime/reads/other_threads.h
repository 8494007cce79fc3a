// Threads and processes beside the calling thread, in a run that reports its reads.
//
// Threads share the report's data, and take turns at it: `Alone`. An instruction that needs a closed page runs alone in
// the process. The other threads are stopped until the page is closed again, so that none of them reads the page
// unseen: each gets a signal, and stops in the signal's handler. A thread that waits in the kernel is not disturbed; it
// stops when it comes back from the kernel. A child process has a copy of all this data, and shares only the log with
// its parent.
//
// Once there is a second thread or process, bytes that are overwritten count as read: an announcement does not tell
// which of two accesses came first.
//
// Known inaccuracies: a signal that the program handles while an instruction runs alone holds the other threads up. If
// the program's handler waits for them, it never ends. The run then differs from a run without a report, which the
// engine notices.
#ifndef POWERCUT_TRACER_RUNTIME_READS_OTHER_THREADS_H_
#define POWERCUT_TRACER_RUNTIME_READS_OTHER_THREADS_H_

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace powercut::runtime {

// The first function returns whether the run has started a thread; the second, whether it has started a thread or a
// process.
bool has_threads();
bool is_concurrent();

// Gives the calling thread the turn at the report's data. While the object lives, no other thread has the turn. A
// thread may have several such objects.
class Alone {
 public:
  Alone();
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
};
// As `Alone`, where the turn lasts beyond the end of a handler.
void take_turn();
void give_turn();

// Stops the other threads; the calling thread has the turn. Until go_on() no other thread executes an instruction of
// the program.
void stop_others();
void go_on();
// Called in the handler of SIGTRAP: returns whether stop_others() sent the signal, and returns only when the thread may
// go on.
bool stopped_by(const siginfo_t* info);

// waits() returns whether the call waits in the kernel and a signal would end it early; wait_in_kernel() makes such a
// call.
bool waits(long number);
long wait_in_kernel(long number, const long (&a)[6]);

// Makes a system call of the run that starts a thread or a process, in the handler of that call. Returns the result
// that the program finds in rax; `context` may lead the program elsewhere. Ends a run that starts something that cannot
// be followed.
long start_another(long number, const long (&a)[6], ucontext_t* context);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_OTHER_THREADS_H_
