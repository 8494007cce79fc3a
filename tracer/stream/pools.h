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
  /* All ranges lie in [low, low + span): instrumented code tests this interval before any call. span 0: no range. */
  uint64_t low, span;
} powercut_ranges;

/* Adds a range, in place of earlier ones there, as MAP_FIXED does. Returns 0, or -1 if the table is full. */
int powercut_ranges_map(powercut_ranges* table, uint64_t begin, uint64_t length, uint32_t pool, uint64_t offset);
/* Takes [begin, begin + length) out. Returns the number of its bytes that were mapped. */
uint64_t powercut_ranges_unmap(powercut_ranges* table, uint64_t begin, uint64_t length);
/* Returns the first range that ends after `address`, which need not lie in the range; null if there is none. */
const powercut_range* powercut_ranges_at(const powercut_ranges* table, uint64_t address);
/* Clips [address, address + size) to the first range that it touches. Returns the size of the clipped part, and its
 * begin in `*begin`; returns 0 if no range is touched. */
uint64_t powercut_ranges_clip(const powercut_ranges* table, uint64_t address, uint64_t size, uint64_t* begin);
/* Returns the first mapped part of [*address, end) as a piece of a pool's file, and moves `*address` past it. Returns 0
 * if no range is touched:
 *   for (powercut_range piece; powercut_ranges_next(table, &address, end, &piece);) ... */
int powercut_ranges_next(const powercut_ranges* table, uint64_t* address, uint64_t end, powercut_range* piece);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_POOLS_H_ */
