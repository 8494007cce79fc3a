// Functions that ask not to be instrumented, and a marker.
#include "pool.h"

extern void powercut_mark(const char* name);

__attribute__((noinline, annotate("powercut_ignore"))) static void by_annotation(char* pool) { *AT(int, 0) = 1; }
__attribute__((noinline, disable_sanitizer_instrumentation)) static void by_attribute(char* pool) { *AT(int, 4) = 2; }
__attribute__((naked, noinline)) static void naked(void) { __asm__("ret"); }

void run(char* pool) {
  by_annotation(pool);
  by_attribute(pool);
  naked();
  powercut_mark("here");
  *AT(int, 8) = 3;
}
