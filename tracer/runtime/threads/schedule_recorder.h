// The functions of the recording that the scheduler of a program calls (scheduled_program.h).
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_RECORDER_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_RECORDER_H_

#include <cstdint>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/call_site.h"

namespace powercut::runtime {

// All are called in the thread that has the token.
struct ScheduleRecorder {
  powercut_sink sink;  // is told of events, and of stores outside of the pools as well
  void (*thread_starts)(uint32_t number);
  void (*thread_ends)();
  void (*left)(const char* how, const CallSite& site);  // a mark with a stack
  void (*finish)(int status);
  bool (*records)();  // whether the calling thread is in the midst of recording: its hooks are then not the program's
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_RECORDER_H_
