// Calls from the runtime to whoever watches a pool (hooks.h, powercut_alias), for events that cannot be announced as
// accesses.
#ifndef POWERCUT_TRACER_RUNTIME_WATCH_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_WATCH_HOOKS_H_

#ifdef __cplusplus
extern "C" {
#endif

// Null: nobody watches. Neither function returns while target code runs.
typedef struct powercut_watch {
  // The program does something that cannot be followed; `what` names the call or instruction.
  void (*cannot_follow)(const char* what, const void* pc, const void* frame);
  // The program waits for a lock in the pool that nobody will ever release.
  void (*blocked)(const void* pc, const void* frame);
} powercut_watch;
extern powercut_watch __powercut_watch;

// Emitted by the pass before assembly that enters the kernel.
void __powercut_enters_kernel(void);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_WATCH_HOOKS_H_
