/* The requests of targets/include/powercut/mark.h that are told by a record alone: where operations begin and end, what
 * they answered, markers, phases and cuts. Plain C without a C library. */
#ifndef POWERCUT_TRACER_STREAM_MARKS_H_
#define POWERCUT_TRACER_STREAM_MARKS_H_

#include "tracer/stream/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { kPowercutMarkWords = 6 };

/* Which words of a request are the addresses of texts, as bits, and which words are addresses of bytes with their size
 * in the next word. Returns 0 for a request that no record tells. */
int powercut_mark_reads(uint64_t request, unsigned* texts, unsigned* bytes);

/* Writes the record. Precondition: powercut_mark_reads() knows the request, and its addresses can be read; a text may
 * be null. */
void powercut_stream_mark(powercut_stream* stream, powercut_site site, const uint64_t request[kPowercutMarkWords]);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_MARKS_H_ */
