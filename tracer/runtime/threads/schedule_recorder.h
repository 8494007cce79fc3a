// What the recording of a scheduled program does for the scheduler (scheduled_program.h).
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_RECORDER_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_RECORDER_H_

#include <cstdint>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/call_site.h"

namespace powercut::runtime {

// Called in the thread that has the token.
struct ScheduleRecorder {
  powercut_sink sink;  // is told of events, and of stores outside of the pools as well
  void (*thread_starts)(uint32_t number);
  void (*thread_ends)();
  void (*left)(const char* how, const CallSite& site);  // a mark with a stack
  void (*finish)(int status);
  bool (*records)();  // whether the calling thread is in the midst of it: what it does is not the program's
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_RECORDER_H_
