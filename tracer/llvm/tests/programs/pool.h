/* Every program of the conformance suite: a zeroed pool in the middle of a larger mapping, and `run`, whose trace is
 * compared with expected/<program>.txt. The first lines of a program may say, in comments of their own:
 *   flags: ...    added to the compiler's
 *   cpu: ...      features that the machine must have (names of /proc/cpuinfo)
 *   levels: O2    only these optimisation levels */
#ifndef POOL_H_
#define POOL_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "powercut/trace.h"

#ifdef __cplusplus
extern "C"
#endif
void run(char* pool);

enum { kPage = 4096, kPoolSize = 16 * kPage };

int main(void) {
  char* memory = (char*)mmap(0, kPoolSize + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == (char*)MAP_FAILED) return 1;
  powercut_trace_pool(memory + kPage, kPoolSize);
  run(memory + kPage);
  return powercut_trace_end() == 0 ? 0 : 1;
}

/* A pointer of any type into the pool, volatile so that -O2 keeps every access. */
#define AT(type, offset) ((volatile type*)(pool + (offset)))
/* The compiler may assume nothing about memory here. */
#define BARRIER() __asm__ volatile("" ::: "memory")

#endif
