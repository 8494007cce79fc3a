/* Tracing without the engine: a program that was built with `powercut cc` or `powercut c++` records itself.
 *
 * From outside:  POWERCUT_TRACE=run.pct POWERCUT_POOL_BASE=0x600000000000 POWERCUT_POOL_SIZE=1048576 ./program
 * From inside:   powercut_trace_pool(base, size) where the pool is mapped; the file is POWERCUT_TRACE's, or the one
 *                given to powercut_trace_begin. The trace is complete at powercut_trace_end or exit; a program that
 *                crashes or calls _exit leaves none. A forked child is not traced. */
#ifndef POWERCUT_TRACE_H_
#define POWERCUT_TRACE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where persistent memory lies. Starts the trace if a file is known; a second call is an error (one line on
 * stderr, and the first pool stays). Call it, and the two below, while no other thread runs. */
void powercut_trace_pool(void* base, size_t size);
/* Starts a trace to `path`, once the pool is known. Returns 0, or -1 after one line on stderr. */
int powercut_trace_begin(const char* path);
/* Completes the trace, if one is being recorded. Returns 0, or -1 after one line on stderr. */
int powercut_trace_end(void);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACE_H_ */
