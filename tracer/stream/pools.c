#include "tracer/stream/pools.h"

#include <stddef.h>

/* Index of the first range that ends after `address`. */
static uint32_t first_after(const powercut_ranges* table, uint64_t address) {
  uint32_t low = 0, high = table->count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (table->ranges[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static void update_bounds(powercut_ranges* table) {
  table->low = table->count == 0 ? 0 : table->ranges[0].begin;
  table->span = table->count == 0 ? 0 : table->ranges[table->count - 1].end - table->low;
}

static void insert(powercut_ranges* table, uint32_t at, powercut_range range) {
  for (uint32_t i = table->count; i > at; --i) table->ranges[i] = table->ranges[i - 1];
  table->ranges[at] = range;
  ++table->count;
}

static void erase(powercut_ranges* table, uint32_t at) {
  --table->count;
  for (uint32_t i = at; i < table->count; ++i) table->ranges[i] = table->ranges[i + 1];
}

uint64_t powercut_ranges_unmap(powercut_ranges* table, uint64_t begin, uint64_t length) {
  const uint64_t end = begin + length;
  uint64_t gone = 0;
  uint32_t at = first_after(table, begin);
  while (at < table->count && table->ranges[at].begin < end) {
    powercut_range* range = &table->ranges[at];
    const uint64_t from = range->begin > begin ? range->begin : begin;
    const uint64_t to = range->end < end ? range->end : end;
    gone += to - from;
    if (from == range->begin && to == range->end) {
      erase(table, at);
      continue;
    }
    if (from == range->begin) {
      range->offset += to - range->begin;
      range->begin = to;
    } else if (to == range->end) {
      range->end = from;
    } else {
      const powercut_range rest = {to, range->end, range->pool, range->offset + (to - range->begin)};
      range->end = from;
      /* A full table forgets the upper part: one that is not watched, never one at a wrong place. */
      if (table->count < kPowercutMostRanges) insert(table, at + 1, rest);
    }
    ++at;
  }
  update_bounds(table);
  return gone;
}

int powercut_ranges_map(powercut_ranges* table, uint64_t begin, uint64_t length, uint32_t pool, uint64_t offset) {
  powercut_ranges_unmap(table, begin, length);
  if (length == 0) return 0;
  if (table->count == kPowercutMostRanges) return -1;
  const powercut_range range = {begin, begin + length, pool, offset};
  insert(table, first_after(table, begin), range);
  update_bounds(table);
  return 0;
}

const powercut_range* powercut_ranges_at(const powercut_ranges* table, uint64_t address) {
  const uint32_t at = first_after(table, address);
  return at < table->count ? &table->ranges[at] : NULL;
}

int powercut_ranges_next(const powercut_ranges* table, uint64_t* address, uint64_t end, powercut_range* piece) {
  const powercut_range* range = powercut_ranges_at(table, *address);
  if (range == NULL || range->begin >= end || *address >= end) return 0;
  *piece = *range;
  if (piece->begin < *address) piece->begin = *address;
  if (piece->end > end) piece->end = end;
  piece->offset += piece->begin - range->begin;
  *address = piece->end;
  return 1;
}

uint64_t powercut_ranges_clip(const powercut_ranges* table, uint64_t address, uint64_t size, uint64_t* begin) {
  powercut_range piece;
  if (!powercut_ranges_next(table, &address, address + size, &piece)) return 0;
  *begin = piece.begin;
  return piece.end - piece.begin;
}
