/* Where pools are mapped: a table of disjoint address ranges, each a piece of a pool's file. Plain C without a C
 * library. Not thread-safe. */
#ifndef POWERCUT_TRACER_STREAM_POOLS_H_
#define POWERCUT_TRACER_STREAM_POOLS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kPowercutMostRanges = 4096 };

typedef struct powercut_range {
  uint64_t begin, end; /* invariant: begin < end */
  uint32_t pool;
  uint64_t offset; /* of `begin` in the pool's file */
} powercut_range;

typedef struct powercut_ranges {
  powercut_range ranges[kPowercutMostRanges]; /* invariant: sorted by address, disjoint */
  uint32_t count;
  /* All ranges lie in [low, low + span): what instrumented code tests before it calls anything. span 0: no range. */
  uint64_t low, span;
} powercut_ranges;

/* Maps; what was mapped there before is gone, as with MAP_FIXED. Returns 0, or -1 when the table is full. */
int powercut_ranges_map(powercut_ranges* table, uint64_t begin, uint64_t length, uint32_t pool, uint64_t offset);
/* Takes [begin, begin + length) out. Returns how much of it was mapped, in bytes. */
uint64_t powercut_ranges_unmap(powercut_ranges* table, uint64_t begin, uint64_t length);
/* The first range that ends after `address`, which it need not contain; null when there is none. */
const powercut_range* powercut_ranges_at(const powercut_ranges* table, uint64_t address);
/* The part of [address, address + size) that lies in the first range that it touches. Returns its size, and its begin
 * in `*begin`; 0 when it touches none. */
uint64_t powercut_ranges_clip(const powercut_ranges* table, uint64_t address, uint64_t size, uint64_t* begin);
/* The same as a piece of a pool's file; `*address` goes past it. 0 when [*address, end) touches no range:
 *   for (powercut_range piece; powercut_ranges_next(table, &address, end, &piece);) ... */
int powercut_ranges_next(const powercut_ranges* table, uint64_t* address, uint64_t end, powercut_range* piece);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_POOLS_H_ */
