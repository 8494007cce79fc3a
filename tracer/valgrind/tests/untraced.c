/* Stands in for the tracer's runtime where the programs of the conformance suite run as they are, under the tool. */
#include "powercut/mark.h"
#include "powercut/trace.h"

void powercut_trace_pool(void* base, size_t size) { powercut_mark_pool(base, size); }

int powercut_trace_end(void) {
  powercut_mark_request(POWERCUT_MARK_POOLS_END, 0, 0, 0, 0, 0);
  return 0;
}

/* The function that the conformance programs call for a marker. */
void powercut_mark(const char* name) { powercut_mark_request(POWERCUT_MARK_POINT, (unsigned long)name, 0, 0, 0, 0); }
