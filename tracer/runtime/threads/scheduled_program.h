// Runs the threads of a recorded program one at a time, in the order that a schedule asks for (schedule_file.h).
//
// Threads are those of the system. One of them has the *token* and runs; it hands it on before a *visible* event
// (replayer/SCHEDULES.md, "Programs"), and where it cannot go on. So thread-local variables, keys, handles and all code
// that is not instrumented work as they always do.
//
// Visible are: what a stand-in of a lock's function does, a wait, a turn of a waiting loop; a fence or locked
// instruction that may make a flush of its thread durable; `clflush`; the begin and end of a marked operation; system
// calls on pools; and each use of a place that *races*: another thread uses it too, one of the two changes it, and
// nothing visible orders them (place_uses.h). A place is a word of memory, for stores and flushes of the pools also a
// line. Which places these are shows as schedules are run: a place that was not asked for is told to the driver, which
// begins again.
//
// Known inaccuracies: what a hook announces is one step, a memcpy as well. Plain accesses of a function to its own
// local variables have no hooks. Code without hooks keeps the token; if it waits for another thread, nobody goes on,
// and the driver gives the run up.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULED_PROGRAM_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULED_PROGRAM_H_

#include <cstdint>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/threads/schedule_recorder.h"

namespace powercut::runtime {

// Takes over: the calling thread is number 1. False: `path` is no schedule, or another process follows it.
bool follow_schedule(const char* path, const ScheduleRecorder& recorder);
bool follows_schedule();
// Of the calling thread; 0: it is not one of those that are scheduled.
uint32_t scheduled_number();
// Where pools lie.
void schedule_pools(const powercut_window& window);
// Before the calling thread does something that others can tell, of which no hook says so.
void schedule_point(const CallSite& site);
// The same before a marked operation begins, and once it has ended.
void schedule_operation(const CallSite& site);
void schedule_operation_ended();
// The program ends in an orderly way: others may run before.
void schedule_ends(const CallSite& site);
// In the child of a fork.
void leave_schedule();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULED_PROGRAM_H_
