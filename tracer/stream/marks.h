/* The requests of targets/include/powercut/mark.h that need no more than a record: begin and end of operations,
 * their answers, markers, phases and cuts. Plain C without a C library. */
#ifndef POWERCUT_TRACER_STREAM_MARKS_H_
#define POWERCUT_TRACER_STREAM_MARKS_H_

#include "tracer/stream/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { kPowercutMarkWords = 6 };

/* Sets a bit of `*texts` for each word of a request that is the address of a text. Sets a bit of `*bytes` for each
 * word that is the address of bytes, whose size is in the next word. Returns 0 for a request that has no record. */
int powercut_mark_reads(uint64_t request, unsigned* texts, unsigned* bytes);

/* Writes the record of a request. Precondition: powercut_mark_reads() knows the request, and its addresses can be
 * read; a text may be null. */
void powercut_stream_mark(powercut_stream* stream, powercut_site site, const uint64_t request[kPowercutMarkWords]);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_MARKS_H_ */
