// What the runtime tells whoever watches a pool (hooks.h, powercut_alias), where no access can be announced.
#ifndef POWERCUT_TRACER_RUNTIME_WATCH_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_WATCH_HOOKS_H_

#ifdef __cplusplus
extern "C" {
#endif

// Null: nobody watches. Neither returns while target code runs.
typedef struct powercut_watch {
  // The program does what cannot be followed.
  void (*cannot_follow)(const char* what, const void* pc, const void* frame);
  // It waits for a lock in the pool that nobody will ever release.
  void (*blocked)(const void* pc, const void* frame);
} powercut_watch;
extern powercut_watch __powercut_watch;

// Emitted by the pass before assembly that enters the kernel.
void __powercut_enters_kernel(void);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_WATCH_HOOKS_H_
