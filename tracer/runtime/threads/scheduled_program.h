// Runs the threads of a recorded program one at a time, in the order that a schedule asks for (schedule_file.h).
//
// Threads are those of the system. One thread has the *token* and runs. It hands the token on before a *visible* event
// (replayer/SCHEDULES.md, "Programs"), and where the thread cannot go on. Thread-local variables, keys, handles and all
// code that is not instrumented therefore work as they always do.
//
// Visible events are:
// - a step of a stand-in of a lock's function, a wait, a turn of a waiting loop;
// - a fence or locked instruction that may make a flush of its thread durable, and `clflush`;
// - the begin and end of a marked operation, and system calls on pools;
// - each use of a place that *races*: another thread uses the place too, one of the two uses changes it, and nothing
//   visible orders them (place_uses.h).
//
// A place is a word of memory; stores and flushes of the pools also use the place of their line. Racing places show as
// schedules are run: a racing place that the driver did not ask for is told to the driver, which begins again.
//
// Known inaccuracies: an announcement of a hook is one step, a memcpy as well. Plain accesses of a function to its own
// local variables have no hooks. Code without hooks keeps the token; if such code waits for another thread, nobody goes
// on, and the driver gives the run up.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULED_PROGRAM_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULED_PROGRAM_H_

#include <cstdint>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/threads/schedule_recorder.h"

namespace powercut::runtime {

// Takes over the scheduling: the calling thread is number 1. Returns false if `path` is no schedule, or another process
// follows it.
bool follow_schedule(const char* path, const ScheduleRecorder& recorder);
bool follows_schedule();
// Returns the number of the calling thread; 0 if the thread is not scheduled.
uint32_t scheduled_number();
// Tells the scheduler where the pools lie.
void schedule_pools(const powercut_window& window);
// Called before the calling thread does something that others can tell and that no hook announces.
void schedule_point(const CallSite& site);
// Called before a marked operation begins; schedule_operation_ended() once it has ended.
void schedule_operation(const CallSite& site);
void schedule_operation_ended();
// Called when the program ends in an orderly way: other threads may run before the end.
void schedule_ends(const CallSite& site);
// Called in the child of a fork.
void leave_schedule();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULED_PROGRAM_H_
